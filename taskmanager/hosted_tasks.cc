#include "taskmanager/hosted_tasks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr Duration kLateTimer = 2s;
constexpr int kLooksPerTimeout = 4;
constexpr Duration kWatchIntervalMin = 10ms;

std::string title_of(const SubtaskId& subtask, const JobGraph& graph) {
  const JobVertex& vertex = graph.vertices[subtask.vertex.value];
  return "subtask " + std::to_string(subtask.index + 1) + " of " +
         std::to_string(vertex.parallelism) + " of '" + vertex.name() + "'";
}

}  // namespace

/// Carries states from the thread that steps a task to the mailbox.
class HostedTasks::Listener final : public TaskListener {
 public:
  Listener(Executor& main, std::weak_ptr<HostedTasks> tasks)
      : main_(main), tasks_(std::move(tasks)) {}

  void on_state(TaskStateChange change) override {
    main_.post("task_state", [tasks = tasks_, change = std::move(change)]() mutable {
      if (const auto self = tasks.lock()) self->on_state(std::move(change));
    });
  }

  void on_timer_wanted(const AttemptId& attempt, Duration delay) override {
    main_.schedule(delay, "task_timer", [tasks = tasks_, attempt] {
      if (const auto self = tasks.lock()) self->on_timer(attempt);
    });
  }

 private:
  Executor& main_;
  const std::weak_ptr<HostedTasks> tasks_;
};

HostedTasks::HostedTasks(Options options, const TaskBuilderEnvironment& environment, Mailbox& main,
                         Owner& owner)
    : options_(std::move(options)),
      environment_(environment),
      main_(main),
      owner_(owner),
      slots_(options_.slots) {}

Status HostedTasks::pass(std::string_view mark) {
  if (environment_.faults == nullptr) return Status();
  try {
    environment_.faults->at(mark);
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
  return Status();
}

bool HostedTasks::add(const TaskDeployment& deployment, bool welcome) {
  const AttemptId& attempt = deployment.attempt;
  Hosted& hosted = tasks_[attempt];
  hosted.slot = deployment.slot;
  Status status = slots_.claim(deployment.slot, deployment.allocation, attempt);
  if (status.ok() && !welcome) status = unavailable("the TaskManager is stopping");
  if (status.ok()) return true;
  fail_before_start(attempt, status, {});
  return false;
}

void HostedTasks::start(const std::vector<const TaskDeployment*>& deployments,
                        const JobInformation& job, const std::shared_ptr<const BuiltJob>& built) {
  BufferNeed need;
  for (const TaskDeployment* deployment : deployments) {
    if (hosts(deployment->attempt)) need += buffer_need(job, *deployment, environment_.shuffle);
  }
  const auto memory = environment_.shuffle.reserve(job.id, need);
  for (const TaskDeployment* deployment : deployments) {
    if (memory.ok()) {
      start_one(*deployment, job, built);
    } else {
      fail_before_start(deployment->attempt, memory.status(), {});
    }
  }
}

void HostedTasks::start_one(const TaskDeployment& deployment, const JobInformation& job,
                            std::shared_ptr<const BuiltJob> built) {
  const AttemptId& attempt = deployment.attempt;
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end()) return;
  if (Status status = pass("deploy.before_create"); !status.ok())
    return fail_before_start(attempt, status, {});
  auto on_loss = [weak = weak_from_this(), &main = main_.executor()](const AttemptId& consumer,
                                                                     const ChannelLoss& loss) {
    main.post("channel_loss", [weak, consumer, loss] {
      const auto self = weak.lock();
      if (self == nullptr || self->abandoned_) return;
      // Of a task that is being cancelled nobody wants to hear it: its producers are, too.
      const auto found = self->tasks_.find(consumer);
      if (found == self->tasks_.end() || found->second.cancelling) return;
      self->owner_.on_channel_loss(consumer, loss);
    });
  };
  auto task = build_task(job, std::move(built), deployment,
                         std::make_shared<Listener>(main_.executor(), weak_from_this()),
                         std::move(on_loss), environment_);
  if (!task.ok()) return fail_before_start(attempt, task.status(), {});
  if (Status status = pass("deploy.before_ack"); !status.ok())
    return fail_before_start(attempt, status, {});
  Hosted& hosted = found->second;
  hosted.task = std::move(task).value();
  hosted.metrics = std::make_shared<TaskMetrics>(options_.labels, attempt, job.name,
                                                 job.graph->vertices[attempt.subtask.vertex.value],
                                                 *hosted.task, main_.now());
  if (options_.metrics != nullptr) options_.metrics->add(hosted.metrics);
  hosted.title = title_of(attempt.subtask, *job.graph);
  for (const DatasetId dataset : job.graph->outputs_of(attempt.subtask.vertex)) {
    if (job.graph->edges[dataset.value].exchange == Exchange::kBlocking)
      hosted.stored.push_back({job.id, dataset, attempt.subtask.index, attempt.attempt});
  }
  hosted.flush_interval = hosted.task->flush_interval();
  if (hosted.flush_interval) schedule_flush(*hosted.flush_interval);
  schedule_watch();
  environment_.tasks.add(hosted.task);
}

void HostedTasks::fail_before_start(const AttemptId& attempt, const Status& cause,
                                    const std::string& operator_name) {
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end()) return;
  report_without_task(attempt, found->second, TaskState::kFailed, cause, operator_name);
}

void HostedTasks::cancel(const AttemptId& attempt) {
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end() || found->second.cancelling) return;
  Hosted& hosted = found->second;
  hosted.cancelling = true;
  if (hosted.task == nullptr) {
    report_without_task(attempt, hosted, TaskState::kCanceling);
    report_without_task(attempt, tasks_.at(attempt), TaskState::kCanceled);
    return;
  }
  watch_cancellation(attempt, hosted);
  hosted.task->request_cancel();
  environment_.tasks.wake(hosted.task);
}

void HostedTasks::watch_cancellation(const AttemptId& attempt, Hosted& hosted) {
  const TimePoint due = main_.now() + options_.cancellation_timeout;
  hosted.cancellation = main_.schedule(
      options_.cancellation_timeout, "cancellation_timeout",
      [weak = weak_from_this(), attempt, due] {
        const auto self = weak.lock();
        if (self == nullptr || self->abandoned_ || !self->hosts(attempt)) return;
        // After a pause of this process timers come before the tasks that were
        // paused as well.
        if (self->main_.now() - due > kLateTimer)
          return self->watch_cancellation(attempt, self->tasks_.at(attempt));
        const Hosted& stuck = self->tasks_.at(attempt);
        const std::string name = stuck.task->running_operator();
        const Status status =
            deadline_exceeded(stuck.title + " did not end within " +
                              format_duration(self->options_.cancellation_timeout) +
                              " (task.cancellation.timeout) of its cancellation: " +
                              (name.empty() ? std::string("its code") : "operator '" + name + "'") +
                              " does not return");
        LOG_ERROR("cancellation_timeout",
                  {{"job", attempt.job}, {"attempt", attempt}, {"status", status}});
        if (self->options_.on_fatal) self->options_.on_fatal(status);
      });
}

void HostedTasks::provoke(const AttemptId& attempt, ProvokedFailure failure) {
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end() || found->second.task == nullptr) return;
  LOG_WARN("failure_provoked",
           {{"job", attempt.job}, {"attempt", attempt}, {"failure", to_string(failure)}});
  found->second.task->request_failure(failure);
  environment_.tasks.wake(found->second.task);
}

void HostedTasks::finish(const AttemptId& attempt) {
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end() || found->second.task == nullptr) return;
  found->second.finishing = true;
  found->second.task->request_finish();
  environment_.tasks.wake(found->second.task);
}

void HostedTasks::end_job(const JobId& job) {
  std::vector<AttemptId> attempts;
  for (const auto& [attempt, hosted] : tasks_) {
    if (attempt.job == job && !hosted.finishing) attempts.push_back(attempt);
  }
  for (const AttemptId& attempt : attempts) cancel(attempt);
}

void HostedTasks::cancel_all() {
  std::vector<AttemptId> attempts;
  for (const auto& [attempt, hosted] : tasks_) attempts.push_back(attempt);
  for (const AttemptId& attempt : attempts) cancel(attempt);
}

bool HostedTasks::hosts_job(const JobId& job) const {
  const auto first = tasks_.lower_bound(AttemptId{job, {}, 0});
  return first != tasks_.end() && first->first.job == job;
}

void HostedTasks::for_each(
    const std::function<void(const AttemptId&, const TaskNumbers&)>& call) const {
  const TimePoint now = main_.now();
  for (const auto& [attempt, hosted] : tasks_) {
    call(attempt, hosted.metrics ? hosted.metrics->numbers(now) : TaskNumbers());
  }
}

void HostedTasks::report_without_task(const AttemptId& attempt, Hosted& hosted, TaskState state,
                                      const Status& cause, const std::string& operator_name) {
  LOG_INFO("task_state", {{"job", attempt.job},
                          {"attempt", attempt},
                          {"from", to_string(hosted.state)},
                          {"to", to_string(state)}});
  TaskStateChange change;
  change.attempt = attempt;
  change.state = state;
  change.cause = cause;
  change.operator_name = operator_name;
  report(hosted, std::move(change));
}

void HostedTasks::on_state(TaskStateChange change) {
  main_.assert_on_thread();
  if (abandoned_) return;
  const auto found = tasks_.find(change.attempt);
  CHECK(found != tasks_.end());
  report(found->second, std::move(change));
}

void HostedTasks::on_timer(const AttemptId& attempt) {
  main_.assert_on_thread();
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end() || found->second.task == nullptr) return;
  found->second.task->on_timer();
  environment_.tasks.wake(found->second.task);
}

void HostedTasks::report(Hosted& hosted, TaskStateChange change) {
  CHECK(can_move(hosted.state, change.state));
  hosted.state = change.state;
  if (change.state == TaskState::kFailed) {
    LOG_WARN("task_failed",
             {{"job", change.attempt.job}, {"attempt", change.attempt}, {"status", change.cause}});
  }
  if (change.state == TaskState::kCanceled) (void)pass("cancel.before_ack");
  if (is_terminal(change.state)) drop(change.attempt);
  owner_.on_task_state(change);
}

void HostedTasks::drop(const AttemptId& attempt) {
  const auto found = tasks_.find(attempt);
  slots_.release(found->second.slot, attempt);
  main_.cancel(found->second.cancellation);
  if (found->second.metrics) found->second.metrics->release();
  // Nobody may read what a task made that was to end otherwise.
  if (found->second.state != TaskState::kFinished) {
    for (const StoredPartition::Name& name : found->second.stored)
      environment_.shuffle.release_stored(name);
  }
  tasks_.erase(found);
}

void HostedTasks::schedule_watch() {
  if (watch_timer_ || options_.watchdog_timeout == Duration{}) return;
  const Duration interval =
      std::max<Duration>(options_.watchdog_timeout / kLooksPerTimeout, kWatchIntervalMin);
  watch_timer_ = main_.schedule(interval, "watch_steps",
                                [weak = weak_from_this(), due = main_.now() + interval] {
                                  if (const auto self = weak.lock()) self->watch_steps(due);
                                });
}

void HostedTasks::watch_steps(TimePoint due) {
  watch_timer_.reset();
  if (abandoned_ || tasks_.empty()) return;
  const TimePoint now = main_.now();
  for (auto& [attempt, hosted] : tasks_) {
    // Blocking tasks said that they may wait. After a pause of this process nobody knows what took
    // the time.
    if (hosted.task == nullptr || hosted.task->blocking() || now - due > kLateTimer) continue;
    const auto lasts = hosted.watch.look(hosted.task->step_began(), now, options_.watchdog_timeout);
    if (!lasts) continue;
    LOG_WARN(
        "step_lasts_long",
        {{"job", attempt.job},
         {"attempt", attempt},
         {"task", hosted.title},
         {"operator", hosted.task->running_operator()},
         {"duration", format_duration(std::chrono::floor<std::chrono::milliseconds>(*lasts))}});
  }
  schedule_watch();
}

void HostedTasks::schedule_flush(Duration interval) {
  if (flush_timers_.contains(interval)) return;
  flush_timers_[interval] =
      main_.schedule(interval, "flush_outputs", [weak = weak_from_this(), interval] {
        if (const auto self = weak.lock()) self->flush(interval);
      });
}

void HostedTasks::flush(Duration interval) {
  flush_timers_.erase(interval);
  bool any = false;
  for (const auto& [attempt, hosted] : tasks_) {
    if (hosted.task == nullptr || hosted.flush_interval != interval) continue;
    any = true;
    if (!hosted.task->wants_flush()) continue;
    hosted.task->request_flush();
    environment_.tasks.wake(hosted.task);
  }
  if (any) schedule_flush(interval);
}

void HostedTasks::abandon() {
  abandoned_ = true;
  for (const auto& [interval, timer] : flush_timers_) main_.cancel(timer);
  if (watch_timer_) main_.cancel(*watch_timer_);
  for (const auto& [attempt, hosted] : tasks_) {
    main_.cancel(hosted.cancellation);
    if (hosted.metrics) hosted.metrics->release();
    if (hosted.task) environment_.tasks.remove(hosted.task);
  }
  tasks_.clear();
}

}  // namespace freshet
