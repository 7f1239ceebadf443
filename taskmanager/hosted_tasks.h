#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/mailbox.h"
#include "runtime/task/stream_task.h"
#include "taskmanager/deployment_message.h"
#include "taskmanager/slot_table.h"
#include "taskmanager/step_watch.h"
#include "taskmanager/task_builder.h"
#include "taskmanager/task_metrics.h"

namespace freshet {

/// The attempts that a TaskManager has, from their deployment to their last state: starts, wakes,
/// flushes and ends their tasks, and tells its owner of each state once and in order, also of tasks
/// that never started.
///
/// Belongs to the mailbox' thread.
class HostedTasks final : public std::enable_shared_from_this<HostedTasks> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// After a terminal state the attempt is not hosted any more.
    virtual void on_task_state(const TaskStateChange&) = 0;
    virtual void on_channel_loss(const AttemptId& consumer, const ChannelLoss&) = 0;
  };
  struct Options {
    uint32_t slots = 1;
    Duration cancellation_timeout = 30s;
    Duration watchdog_timeout = 10s;  // Zero: no step lasts too long.
    std::function<void(const Status&)> on_fatal;
    MetricLabels labels;                // Of the TaskManager.
    MetricRegistry* metrics = nullptr;  // Gets those of each task. May be null.
  };

  HostedTasks(Options, const TaskBuilderEnvironment&, Mailbox&, Owner&);

  /// The attempt is being deployed. False when it failed at once: its slot is taken, or tasks are
  /// not `welcome` any more.
  bool add(const TaskDeployment&, bool welcome);

  /// Their code is there. Those that were cancelled meanwhile are ignored. Either there is memory
  /// for the buffers of all of them, or all fail and say how much they need together.
  void start(const std::vector<const TaskDeployment*>&, const JobInformation&,
             const std::shared_ptr<const BuiltJob>&);
  void fail_before_start(const AttemptId&, const Status& cause, const std::string& operator_name);

  // Attempts that are not hosted any more are ignored: their last state was on its way.
  void cancel(const AttemptId&);
  void finish(const AttemptId&);
  void provoke(const AttemptId&, ProvokedFailure);
  /// Cancels what was not told to finish.
  void end_job(const JobId&);
  void cancel_all();

  bool hosts(const AttemptId& attempt) const { return tasks_.contains(attempt); }
  bool hosts_job(const JobId&) const;
  size_t size() const { return tasks_.size(); }
  uint32_t free_slots() const { return slots_.free(); }
  void for_each(const std::function<void(const AttemptId&, const TaskNumbers&)>&) const;

  /// Takes all tasks from the runner and forgets them. The owner is not called any more.
  void abandon();

 private:
  class Listener;
  struct Hosted {
    TaskState state = TaskState::kDeploying;
    uint32_t slot = 0;
    std::shared_ptr<StreamTask> task;           // Null before start().
    std::shared_ptr<TaskMetrics> metrics;       // Likewise. Released before the task goes.
    std::vector<StoredPartition::Name> stored;  // That it makes of blocking edges.
    std::string title;                          // `subtask 1 of 2 of 'map -> print'`.
    std::optional<Duration> flush_interval;
    TimerId cancellation;
    StepWatch watch;
    bool cancelling = false;
    bool finishing = false;
  };

  void start_one(const TaskDeployment&, const JobInformation&, std::shared_ptr<const BuiltJob>);
  void on_state(TaskStateChange);
  void on_timer(const AttemptId&);
  void report(Hosted&, TaskStateChange);
  void report_without_task(const AttemptId&, Hosted&, TaskState, const Status& cause = Status(),
                           const std::string& operator_name = {});
  void drop(const AttemptId&);
  void watch_cancellation(const AttemptId&, Hosted&);
  void schedule_watch();
  void watch_steps(TimePoint due);
  void schedule_flush(Duration interval);
  void flush(Duration interval);
  Status pass(std::string_view mark);

  const Options options_;
  const TaskBuilderEnvironment environment_;
  Mailbox& main_;
  Owner& owner_;
  SlotTable slots_;
  std::map<AttemptId, Hosted> tasks_;
  std::map<Duration, TimerId> flush_timers_;
  std::optional<TimerId> watch_timer_;  // While there are tasks.
  bool abandoned_ = false;
};

}  // namespace freshet
