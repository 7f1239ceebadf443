#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/base/time.h"

namespace freshet {

enum class StepResult : uint8_t {
  kWorked,    // There may be more to do at once.
  kIdle,      // Nothing to do until it is woken.
  kFinished,  // Never to be stepped again.
};

/// Whether a task waits, is queued or is being stepped, so that no wake-up is lost and nobody steps
/// it twice at a time. Thread-safe, without locks.
class RunState {
 public:
  /// The first call, once. The caller queues the task.
  void attach() { state_.store(State::kQueued); }

  /// True: the caller must queue the task. Otherwise it is queued already, or will be after its
  /// present step, or is out.
  bool wake();

  /// A worker took the task from the queue. False: it was removed, and must not be stepped.
  bool begin_step();

  /// After the step. True: the caller must queue it again.
  bool end_step(StepResult);

  /// It is not queued and not stepped any more, except for a step that is under way.
  void remove();

  /// True before attach(), and after the task finished or was removed.
  bool is_out() const { return state_.load() == State::kOut; }

 private:
  enum class State : uint8_t { kOut, kIdle, kQueued, kRunning, kRunningWoken, kRunningRemoved };

  std::atomic<State> state_{State::kOut};
};

/// Something that a TaskRunner steps.
class RunnableTask {
 public:
  virtual ~RunnableTask() = default;

  /// One bounded piece of work. Never blocks, unless blocking(). Called by one thread at a time.
  virtual StepResult step() = 0;

  /// step() after that of another task on the same thread: a reading of the clock costs as much as
  /// all else that is between two steps, so the end of one is the begin of the next. `end`: when
  /// the step before ended, nullopt when it did not say or the thread waited since; then of this
  /// one.
  StepResult step_after(std::optional<TimePoint>& end) {
    begin_ = end;
    end_.reset();
    const StepResult result = step();
    begin_.reset();
    end = end_;
    return result;
  }

  /// True when step() may block, so that it needs a thread of its own. Constant.
  virtual bool blocking() const = 0;

  RunState& run_state() { return run_state_; }

 protected:
  /// In step(): when it began, if somebody knows.
  const std::optional<TimePoint>& known_begin() const { return begin_; }
  /// At the end of step(), by tasks that read the clock then.
  void set_end(TimePoint end) { end_ = end; }

 private:
  RunState run_state_;
  std::optional<TimePoint> begin_;
  std::optional<TimePoint> end_;
};

/// Steps tasks: a pool of threads, or an executor. Thread-safe.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;

  /// Steps `task` from now on, until it is finished or removed. Once per task.
  virtual void add(std::shared_ptr<RunnableTask> task) = 0;

  /// There may be something to do. Never lost: a step begins after this call. Ignored for tasks
  /// that are not there.
  virtual void wake(const std::shared_ptr<RunnableTask>& task) = 0;

  /// No further step begins; one may be under way.
  virtual void remove(const std::shared_ptr<RunnableTask>& task) = 0;
};

}  // namespace freshet
