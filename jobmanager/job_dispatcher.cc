#include "jobmanager/job_dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "jobmanager/control_messages.h"
#include "runtime/base/log.h"

namespace freshet {

JobDispatcher::JobDispatcher(Options options, Outlet& outlet, Mailbox& mailbox, Clock& clock,
                             Random& random)
    : options_(std::move(options)),
      outlet_(outlet),
      mailbox_(mailbox),
      clock_(clock),
      random_(random) {}

void JobDispatcher::stop() {
  for (const auto& record : jobs_) mailbox_.cancel(record->timer);
}

Result<JobId> JobDispatcher::submit(JobSubmission submission) {
  const auto running_jobs =
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& r) { return r->ended == 0; });
  if (static_cast<size_t>(running_jobs) >= kRunningJobsMax) {
    return resource_exhausted(fmt::format("{} jobs are running already", running_jobs));
  }
  Configuration configuration = options_.configuration;
  for (const auto& [name, value] : submission.build.configuration) {
    RETURN_IF_ERROR(configuration.set(name, value));
  }
  ASSIGN_OR_RETURN(auto backoff, make_restart_backoff(configuration, random_));
  Duration slot_timeout = options_.slot_timeout;
  if (configuration.has(config::kSlotTimeout)) {
    ASSIGN_OR_RETURN(slot_timeout, configuration.duration(config::kSlotTimeout));
  }
  const JobId id = JobId::random(random_);
  JobMaster::Options options{id, std::move(submission), slot_timeout};
  options.share_groups = options_.share_groups;
  if (configuration.text(config::kFailoverStrategy) == "full")
    options.failover = FailoverStrategy::kFull;
  auto record = std::make_unique<JobRecord>();
  record->master = std::make_unique<JobMaster>(std::move(options), std::move(backoff));
  record->information = std::make_shared<const std::string>(
      control_messages::encode_job_information(*record->master));
  if (record->information->size() > kInformationBytesMax) {
    return invalid_argument(
        fmt::format("the graph and the arguments of the job have {} bytes; at "
                    "most {} are allowed",
                    record->information->size(), kInformationBytesMax));
  }
  record->graph = std::make_shared<const JobGraph>(record->master->graph().job_graph());
  record->submitted = clock_.epoch_millis();
  record->submitted_at = mailbox_.now();
  JobRecord& added = *jobs_.emplace_back(std::move(record));
  const TimePoint now = mailbox_.now();
  for (const TaskManagerInfo& info : resources_.task_managers()) {
    apply(added, added.master->on_task_manager_registered(now, info));
  }
  apply(added, added.master->start(now));
  settle();
  return id;
}

Status JobDispatcher::cancel(JobId id) {
  const auto it = std::find_if(jobs_.begin(), jobs_.end(),
                               [&](const auto& r) { return r->master->id() == id; });
  if (it == jobs_.end()) return not_found("no job has the id " + id.to_string());
  Result<JobCommands> commands = (*it)->master->cancel(mailbox_.now());
  if (!commands.ok()) return commands.status();
  apply(**it, std::move(commands).value());
  settle();
  return Status();
}

Result<JobDispatcher::ProvokedTask> JobDispatcher::provoke(JobId id, const std::string& vertex,
                                                           uint32_t subtask,
                                                           ProvokedFailure failure) {
  if (find(id) == nullptr) return not_found("no job has the id " + id.to_string());
  JobRecord* const record = running(id);
  if (record == nullptr)
    return failed_precondition(fmt::format("job {} has ended already", id.to_string()));
  const JobMaster& master = *record->master;
  ASSIGN_OR_RETURN(const SubtaskId target, master.find_subtask(vertex, subtask));
  ASSIGN_OR_RETURN(JobCommands commands, master.provoke(mailbox_.now(), target, failure));
  ProvokedTask provoked{{id, target, master.graph().at(target).attempt}, master.describe(target)};
  apply(*record, std::move(commands));
  return provoked;
}

void JobDispatcher::on_task_manager_registered(const TaskManagerInfo& info) {
  resources_.add(info);
  task_managers_.reset();
  order_clean_ups();
  for (const auto& record : jobs_) {
    if (record->ended != 0) continue;
    apply(*record, record->master->on_task_manager_registered(mailbox_.now(), info));
  }
  settle();
}

void JobDispatcher::on_task_manager_lost(TaskManagerId id, const TaskManagerLoss& loss) {
  resources_.remove(id);
  task_managers_.reset();
  clean_ups_.on_task_manager_lost(id);
  for (const auto& record : jobs_) {
    const bool used = record->users.erase(id) != 0;
    if (record->ended != 0) {
      if (used) clean_ups_.add(record->master->id(), record->information);
      continue;
    }
    record->user_lost |= used;
    apply(*record, record->master->on_task_manager_lost(mailbox_.now(), id, loss));
  }
  order_clean_ups();
  settle();
}

void JobDispatcher::on_task_state(TaskManagerId from, TaskStateReport report) {
  JobRecord* record = running(report.attempt.job);
  if (record == nullptr) return;
  apply(*record, record->master->on_task_state(mailbox_.now(), from, std::move(report)));
  settle();
}

void JobDispatcher::on_hosted(TaskManagerId from, const std::vector<AttemptId>& hosted) {
  std::map<JobId, std::vector<AttemptId>> by_job;
  for (const AttemptId& attempt : hosted) by_job[attempt.job].push_back(attempt);
  for (const auto& [job, attempts] : by_job) {
    if (find(job) != nullptr) continue;  // An ended one was told to end, on this connection.
    LOG_WARN("unknown_job_released", {{"job", job}, {"task_manager", from}});
    const job_commands::CancelTasks cancel{from, attempts};
    outlet_.send_to_task_manager(from, control_messages::encode(cancel));
    outlet_.send_to_task_manager(from, control_messages::encode_release(job));
  }
  for (const auto& record : jobs_) {
    if (record->ended != 0) continue;
    apply(*record, record->master->on_hosted(mailbox_.now(), from, by_job[record->master->id()]));
  }
  settle();
}

void JobDispatcher::on_progress(TaskManagerId from, const AttemptId& attempt,
                                const ExecutionProgress& progress) {
  if (JobRecord* record = running(attempt.job)) {
    record->master->on_progress(mailbox_.now(), from, attempt, progress);
  }
}

void JobDispatcher::on_channels_lost(TaskManagerId from, const ChannelsLostReport& report) {
  JobRecord* record = running(report.consumer.job);
  if (record == nullptr) return;
  apply(*record, record->master->on_channels_lost(mailbox_.now(), from, report));
  settle();
}

void JobDispatcher::on_commit_done(TaskManagerId from, JobId job, uint64_t commit_id,
                                   const Status& status) {
  JobRecord* record = running(job);
  if (record == nullptr) return;
  apply(*record, record->master->on_commit_done(mailbox_.now(), from, commit_id, status));
  settle();
}

void JobDispatcher::on_job_released(TaskManagerId from, JobId job, bool cleaned_up) {
  for (const auto& record : jobs_) {
    if (record->ended != 0 && record->master->id() == job) record->users.erase(from);
  }
  if (cleaned_up) clean_ups_.on_done(job, from);
  if (!clean_ups_.has_work(from)) resources_.offer(from);
  resources_.release(job, from);
  if (cleaned_up) order_clean_ups();
  settle();
}

const JobRecord* JobDispatcher::find(JobId id) const {
  for (const auto& record : jobs_) {
    if (record->master->id() == id) return record.get();
  }
  return nullptr;
}

JobRecord* JobDispatcher::running(JobId id) {
  for (const auto& record : jobs_) {
    if (record->ended == 0 && record->master->id() == id) return record.get();
  }
  return nullptr;
}

void JobDispatcher::pass_marks(JobRecord& record) {
  const JobMaster::Failovers before = std::exchange(record.failovers, record.master->failovers());
  if (record.failovers.decided != before.decided)
    pass_mark(options_.faults, "failover.before_cancel");
  if (record.failovers.done != before.done) pass_mark(options_.faults, "failover.before_restart");
  if (record.ended == 0 && record.master->state() == JobState::kFinished)
    pass_mark(options_.faults, "job.before_finish");
}

void JobDispatcher::apply(JobRecord& record, JobCommands commands) {
  pass_marks(record);
  std::shared_ptr<const DeploymentEncoder> encoder;  // All deployments among them are one.
  for (JobCommand& command : commands) {
    if (auto* tasks = std::get_if<job_commands::DeployTasks>(&command)) {
      if (encoder == nullptr) encoder = make_encoder(record);
      deploy(record, std::move(*tasks), encoder);
    } else {
      carry_out(record, command);
    }
  }
  after_event(record);
}

std::shared_ptr<const DeploymentEncoder> JobDispatcher::make_encoder(const JobRecord& record) {
  if (task_managers_ == nullptr) {
    auto table = std::make_shared<TaskManagerTable>();
    for (const TaskManagerInfo& info : resources_.task_managers()) table->emplace(info.id, info);
    task_managers_ = std::move(table);
  }
  return std::make_shared<const DeploymentEncoder>(record.information, task_managers_,
                                                   encoded_groups_, options_.offload_min_bytes);
}

void JobDispatcher::deploy(JobRecord& record, job_commands::DeployTasks tasks,
                           std::shared_ptr<const DeploymentEncoder> encoder) {
  pass_mark(options_.faults, "deploy.before_send");
  const TaskManagerId to = tasks.to;
  const bool knows_job = !record.users.insert(to).second;
  outlet_.make_and_send_to_task_manager(
      to, [tasks = std::move(tasks), encoder = std::move(encoder), knows_job] {
        return encoder->encode(tasks, knows_job);
      });
}

void JobDispatcher::carry_out(JobRecord& record, const JobCommand& command) {
  namespace jc = job_commands;
  namespace cm = control_messages;
  const JobMaster& job = *record.master;
  if (const auto* c = std::get_if<jc::RequireSlots>(&command)) {
    resources_.take_back(job.id(), c->returned);
    resources_.require(job.id(), c->total, c->needed, c->idle);
  } else if (const auto* cancel = std::get_if<jc::CancelTasks>(&command)) {
    outlet_.send_to_task_manager(cancel->to, cm::encode(*cancel));
  } else if (const auto* finish = std::get_if<jc::FinishTasks>(&command)) {
    outlet_.send_to_task_manager(finish->to, cm::encode(*finish));
  } else if (const auto* partitions = std::get_if<jc::ReleasePartitions>(&command)) {
    outlet_.send_to_task_manager(partitions->to, cm::encode(*partitions, job.id()));
  } else if (const auto* provoke = std::get_if<jc::ProvokeFailure>(&command)) {
    outlet_.send_to_task_manager(provoke->to, cm::encode(*provoke));
  } else if (const auto* commit = std::get_if<jc::Commit>(&command)) {
    pass_mark(options_.faults, "commit.before_order");
    record.users.insert(commit->to);
    outlet_.send_to_task_manager(commit->to, cm::encode(*commit, *record.information));
  } else {
    release(record);
  }
}

void JobDispatcher::release(const JobRecord& record) {
  const JobId id = record.master->id();
  pass_mark(options_.faults, "release.before_send");
  if (record.user_lost) clean_ups_.add(id, record.information);
  outlet_.send_to_all_task_managers(control_messages::encode_release(id));
  order_clean_ups();
}

void JobDispatcher::order_clean_ups() {
  for (const CleanUpLedger::Order& order : clean_ups_.assign(resources_.task_managers())) {
    LOG_INFO("clean_up_ordered", {{"job", order.job}, {"task_manager", order.to}});
    resources_.withhold(order.to);
    outlet_.send_to_task_manager(order.to,
                                 control_messages::encode_clean_up(order.job, *order.information));
  }
}

bool JobDispatcher::is_tidying(const JobRecord& record) const {
  const JobId id = record.master->id();
  return record.ended != 0 &&
         (!resources_.slots_of(id).slots.empty() || clean_ups_.is_given_away(id));
}

void JobDispatcher::settle() {
  for (std::vector<JobId> to_tell = resources_.assign(); !to_tell.empty();
       to_tell = resources_.assign()) {
    for (const JobId& id : to_tell) {
      JobRecord* record = running(id);
      if (record == nullptr) continue;
      apply(*record, record->master->on_slots(mailbox_.now(), resources_.slots_of(id)));
    }
  }
  drop_oldest_ended();
}

void JobDispatcher::after_event(JobRecord& record) {
  if (record.ended == 0 && is_terminal(record.master->state())) {
    record.ended = record.submitted + to_millis(mailbox_.now() - record.submitted_at);
  }
  set_timer(record);
  outlet_.on_job_event(*record.master);
}

void JobDispatcher::set_timer(JobRecord& record) {
  const std::optional<TimePoint> due = record.master->deadline();
  if (due == record.timer_due) return;
  mailbox_.cancel(record.timer);
  record.timer = TimerId{};
  record.timer_due = due;
  if (!due) return;
  const Duration wait = std::max(Duration::zero(), *due - mailbox_.now());
  record.timer =
      mailbox_.schedule(wait, "job_deadline", [weak = weak_from_this(), id = record.master->id()] {
        if (const auto self = weak.lock()) self->on_timer(id);
      });
}

void JobDispatcher::on_timer(JobId id) {
  JobRecord* record = running(id);
  if (record == nullptr) return;
  record->timer_due.reset();
  apply(*record, record->master->on_time(mailbox_.now()));
  settle();
}

void JobDispatcher::drop_oldest_ended() {
  auto ended =
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& r) { return r->ended != 0; });
  for (; static_cast<size_t>(ended) > kEndedJobsMax; ended--) {
    jobs_.erase(
        std::find_if(jobs_.begin(), jobs_.end(), [](const auto& r) { return r->ended != 0; }));
  }
}

}  // namespace freshet
