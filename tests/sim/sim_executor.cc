#include "tests/sim/sim_executor.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace freshet::sim {

namespace {

constexpr uint64_t kWakeUpNanosMax = 50'000;  // From posting to running, on an idle thread.

}  // namespace

struct SimExecutor::Shared : std::enable_shared_from_this<Shared> {
  Shared(SimEventQueue& event_queue, std::shared_ptr<const Liveness> of_process, uint64_t owner_id)
      : queue(event_queue), process(std::move(of_process)), owner(owner_id) {}

  bool may_run() const { return process->alive && !stopped; }

  /// Zero: the next posted function. Otherwise a timer.
  void add_event(TimePoint when, uint64_t timer, std::string_view name) {
    const EventId event = queue.add(when, owner, name, [self = shared_from_this(), timer, name] {
      if (!self->may_run()) return;
      const TimePoint earliest = std::max(self->process->paused_until, self->stalled_until);
      if (self->queue.now() < earliest) {
        self->add_event(earliest, timer, name);
        return;
      }
      self->run(timer);
    });
    if (timer != 0) timers.at(timer).event = event;
  }

  void run(uint64_t timer) {
    CHECK(!running);
    Function function;
    if (timer == 0) {
      function = std::move(posted.front());
      posted.pop_front();
    } else {
      function = std::move(timers.at(timer).function);
      timers.erase(timer);
    }
    running = true;
    function();
    // What a dying process holds is abandoned by its grave, not destroyed here.
    if (process->alive)
      function = nullptr;
    else
      posted.push_back(std::move(function));
    running = false;
  }

  struct Timer {
    EventId event;
    Function function;
  };

  SimEventQueue& queue;
  const std::shared_ptr<const Liveness> process;
  const uint64_t owner;
  bool stopped = false;
  bool running = false;
  std::deque<Function> posted;
  std::map<uint64_t, Timer> timers;
  TimePoint last_post{};
  TimePoint stalled_until{};
  TimePoint slow_until{};
  Duration interval{0};  // Until then, between two of `posted`.
  uint64_t next_timer = 1;
};

SimExecutor::SimExecutor(SimEventQueue& queue, std::shared_ptr<const Liveness> process,
                         uint64_t owner)
    : queue_(queue), shared_(std::make_shared<Shared>(queue, std::move(process), owner)) {}

SimExecutor::~SimExecutor() { stop(); }

void SimExecutor::post(std::string_view name, Function function) {
  if (!shared_->may_run()) return;
  const Duration wake_up(queue_.random().below(kWakeUpNanosMax));
  const TimePoint next = shared_->last_post + shared_->interval;
  const bool slow = shared_->last_post < shared_->slow_until;
  shared_->last_post = std::max(slow ? next : shared_->last_post, queue_.now() + wake_up);
  shared_->posted.push_back(std::move(function));
  shared_->add_event(shared_->last_post, 0, name);
}

uint64_t SimExecutor::add_timer(TimePoint when, std::string_view name, Function function) {
  if (!shared_->may_run()) return 0;
  const uint64_t timer = shared_->next_timer++;
  shared_->timers.emplace(timer, Shared::Timer{EventId{}, std::move(function)});
  shared_->add_event(when, timer, name);
  return timer;
}

TimerId SimExecutor::schedule(Duration delay, std::string_view name, Function function) {
  const Duration late(queue_.random().below(kWakeUpNanosMax));
  return TimerId{add_timer(queue_.now() + delay + late, name, std::move(function))};
}

void SimExecutor::cancel(TimerId timer) {
  const auto it = shared_->timers.find(timer.value);
  if (it == shared_->timers.end()) return;
  const Shared::Timer cancelled = std::move(it->second);  // Its destructor may come back here.
  shared_->timers.erase(it);
  queue_.cancel(cancelled.event);
}

bool SimExecutor::on_thread() const { return shared_->running; }

void SimExecutor::run_at(TimePoint when, std::string_view name, Function function) {
  add_timer(when, name, std::move(function));
}

void SimExecutor::stall(Duration duration) {
  shared_->stalled_until = std::max(shared_->stalled_until, queue_.now() + duration);
}

void SimExecutor::slow_down(Duration interval, Duration duration) {
  shared_->interval = interval;
  shared_->slow_until = queue_.now() + duration;
  shared_->last_post = std::max(shared_->last_post, queue_.now());
}

std::vector<SimExecutor::Function> SimExecutor::stop() {
  shared_->stopped = true;
  std::vector<Function> waiting;
  for (Function& function : shared_->posted) waiting.push_back(std::move(function));
  for (auto& [number, timer] : shared_->timers) {
    queue_.cancel(timer.event);
    waiting.push_back(std::move(timer.function));
  }
  shared_->posted.clear();
  shared_->timers.clear();
  return waiting;
}

}  // namespace freshet::sim
