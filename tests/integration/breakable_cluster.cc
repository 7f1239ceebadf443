#include "tests/integration/breakable_cluster.h"

#include <gtest/gtest.h>

#include "runtime/app/host_id.h"

namespace freshet::testing {

namespace {
constexpr const char* kName = "breakable";
}

BreakableCluster::BreakableCluster(const std::vector<std::string>& settings, uint32_t task_managers)
    : clock_(make_system_clock()), links_(chaos::ClusterLinks::start(task_managers).value()) {
  ClusterSupervisor::Options options;
  options.program = FRESHET_BINARY;
  options.task_managers = task_managers;
  options.slots = 2;
  options.control = Address{"127.0.0.1", 0};
  options.arguments = {"--no-config", "-D", "rest.port=0"};
  options.arguments.insert(options.arguments.end(), settings.begin(), settings.end());
  options.restart_wait_max = Duration(0);
  links_->install(options);
  cluster_ = std::make_unique<TestCluster>(TestCluster::Options{
      .name = kName, .state_directory = directory_.path(), .supervised_here = true});
  supervisor_ = std::make_unique<ThreadExecutor>("supervisor", *clock_);
  supervisor_->post("supervise", [this, options] { supervise(options); });
}

BreakableCluster::~BreakableCluster() {
  stopping_ = true;
  supervisor_->stop();
}

void BreakableCluster::supervise(ClusterSupervisor::Options options) {
  const auto processes = make_system_process_host();
  const auto files = make_local_file_system();
  const auto directory = ClusterDirectory::of(directory_.path(), kName).value();
  EXPECT_TRUE(files->create_directories(directory.path()).ok());
  ClusterSupervisor supervisor(options, directory, boot_id(*files), *processes, *files, *clock_);
  while (!supervisor.ended()) {
    const Status status = supervisor.step();
    EXPECT_TRUE(status.ok()) << status.to_string();
    ready_ = supervisor.ready();
    if (stopping_) supervisor.stop();
    pause(5ms);
  }
}

bool BreakableCluster::wait_until_ready() {
  return wait_until([&] { return ready_.load(); }, 20s);
}

chaos::LinkProxies::Broken BreakableCluster::break_link(chaos::Fault fault) {
  return links().break_link(fault);
}

}  // namespace freshet::testing
