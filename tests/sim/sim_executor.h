#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/executor.h"
#include "tests/sim/sim_event_queue.h"

namespace freshet::sim {

/// Whether a simulated process lives. Shared by all that belongs to it; once false it stays false,
/// and from then on nothing the process does can be seen outside.
struct Liveness {
  bool alive = true;
  TimePoint paused_until{};  // As by SIGSTOP: until then nothing of it runs, and nothing is lost.
};

/// One thread of a simulated process, as events of the world's queue. Functions run in the order of
/// their posting, each a little later than it was posted, by chance: threads of all processes
/// interleave in every way that real ones could.
class SimExecutor final : public Executor {
 public:
  using Function = UniqueFunction<void()>;

  /// `owner` names the thread in the trace.
  SimExecutor(SimEventQueue& queue, std::shared_ptr<const Liveness> process, uint64_t owner);
  ~SimExecutor() override;

  void post(std::string_view name, Function function) override;
  TimerId schedule(Duration delay, std::string_view name, Function function) override;
  void cancel(TimerId) override;
  bool on_thread() const override;
  TimePoint now() const override { return queue_.now(); }

  /// Runs `function` at `when` exactly, after all that was given earlier for the same time.
  void run_at(TimePoint when, std::string_view name, Function function);

  /// For so long nothing is begun, as when a function waits for a disk that does not answer.
  /// Nothing is lost.
  void stall(Duration duration);

  /// For so long at most one posted function is begun in each `interval`, as when each takes that
  /// time.
  void slow_down(Duration interval, Duration duration);

  /// Everything posted later is destroyed unrun. Returns what was waiting.
  std::vector<Function> stop();

 private:
  struct Shared;  // Events may outlive the executor.

  uint64_t add_timer(TimePoint when, std::string_view name, Function function);

  SimEventQueue& queue_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace freshet::sim
