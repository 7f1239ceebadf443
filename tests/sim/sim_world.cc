#include "tests/sim/sim_world.h"

#include <algorithm>

#include "runtime/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace freshet::sim {

/// What a killed process held. Never destroyed.
struct SimProcess::Grave {
  std::shared_ptr<void> program;
  std::vector<std::shared_ptr<ConnectionHandler>> handlers;
  std::vector<SimExecutor::Function> functions;
};

namespace {

// Executors are numbered within their process, so that the trace tells whose event ran.
constexpr uint64_t kExecutorsMax = 1000;

}  // namespace

SimProcess::SimProcess(SimWorld& world, SimHost& host, SimProcessId id, std::string name)
    : world_(world),
      host_(host),
      id_(id),
      name_(std::move(name)),
      random_(world.queue().random().fork()),
      faults_(world.fault_plan(), *this) {
  transport_ = world.network().make_transport(id_, life_, add_executor());
  file_system_ = std::make_unique<SimFileSystem>(host, world.shared(), life_);
}

SimProcess::~SimProcess() { CHECK(program_ == nullptr); }

SimExecutor& SimProcess::add_executor() {
  CHECK(executors_.size() < kExecutorsMax);
  const uint64_t owner = id_.value * kExecutorsMax + executors_.size();
  executors_.push_back(std::make_unique<SimExecutor>(world_.queue(), life_, owner));
  return *executors_.back();
}

Clock& SimProcess::clock() { return world_.queue().clock(); }

void SimProcess::crash() { die(true); }

void SimProcess::vanish() { die(false); }

void SimProcess::die(bool told) {
  if (!alive()) return;
  life_->alive = false;
  world_.queue().note("death");
  world_.queue().note(id_.value);
  world_.network().drop(id_, told);
  // The dying function is still on the stack; what it stands on must stay until it has returned.
  world_.queue().add(world_.queue().now(), 0, "process.bury", [this] { bury(); });
}

void SimProcess::bury() {
  auto* const grave = new Grave;
#if defined(__SANITIZE_ADDRESS__)
  __lsan_ignore_object(grave);
#endif
  grave->program = std::move(program_);
  grave->handlers = world_.network().take_handlers(id_);
  for (const std::unique_ptr<SimExecutor>& executor : executors_) {
    for (SimExecutor::Function& function : executor->stop()) {
      grave->functions.push_back(std::move(function));
    }
  }
}

void SimProcess::pause(Duration duration) {
  life_->paused_until = std::max(life_->paused_until, world_.queue().now() + duration);
}

void SimProcess::exit() {
  CHECK(alive());
  program_ = nullptr;
  life_->alive = false;
  world_.network().drop(id_, true);
  world_.network().take_handlers(id_);
  for (const std::unique_ptr<SimExecutor>& executor : executors_) executor->stop();
}

SimWorld::SimWorld(uint64_t seed, SimVolume::Names shared)
    : queue_(seed),
      log_(queue_),
      network_(queue_),
      fault_plan_(queue_.random().fork()),
      shared_(queue_, shared) {}

SimWorld::~SimWorld() {
  // The power goes off.
  for (const std::unique_ptr<SimProcess>& process : processes_) process->vanish();
  queue_.run_until(queue_.now());
  queue_.close();
}

SimHost& SimWorld::add_host(const std::string& name) {
  hosts_.push_back(std::make_unique<SimHost>(queue_, name));
  return *hosts_.back();
}

void SimWorld::crash_host(SimHost& host) {
  for (const std::unique_ptr<SimProcess>& process : processes_) {
    if (&process->host() == &host) process->vanish();
  }
  ++host.boot;
  host.disk.tear(host);
  shared_.tear(host);
}

SimProcess& SimWorld::start_process(SimHost& host, const std::string& name) {
  processes_.push_back(
      std::make_unique<SimProcess>(*this, host, SimProcessId{next_process_++}, name));
  return *processes_.back();
}

}  // namespace freshet::sim
