#include "tests/bench/scraper.h"

#include <fmt/format.h>
#include <httplib.h>

#include <utility>

#include "runtime/app/port_file.h"

namespace freshet::bench {

std::vector<Address> metrics_endpoints_of(const testing::TestCluster& cluster,
                                          uint32_t task_managers) {
  std::vector<std::string> names = {"jobmanager"};
  for (uint32_t i = 1; i <= task_managers; i++) names.push_back(fmt::format("taskmanager-{}", i));
  std::vector<Address> endpoints;
  for (const std::string& name : names) {
    const auto ports = parse_port_file(testing::read_file(
        fmt::format("{}/{}/{}.port", cluster.state_directory(), cluster.name(), name)));
    endpoints.push_back(ports.ok() ? ports->metrics.value_or(Address{}) : Address{});
  }
  return endpoints;
}

Scraper::Scraper(std::vector<Address> endpoints)
    : endpoints_(std::move(endpoints)), thread_([this] { run(); }) {}

Scraper::~Scraper() { (void)stop(); }

Status Scraper::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return status_;
}

void Scraper::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    Status status;
    for (const Address& one : endpoints_) {
      const auto response = httplib::Client(one.host, one.port).Get("/metrics");
      if (!response || response->status != 200 || response->body.empty())
        status = unavailable("no metrics at " + one.to_string());
    }
    lock.lock();
    if (status_.ok()) status_ = status;
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopped_; });
  }
}

}  // namespace freshet::bench
