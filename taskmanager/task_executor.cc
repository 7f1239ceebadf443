#include "taskmanager/task_executor.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/mailbox.h"
#include "runtime/graph/task_state.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/crash_message.h"
#include "taskmanager/gate_group_cache.h"
#include "taskmanager/hosted_job.h"
#include "taskmanager/hosted_tasks.h"
#include "taskmanager/job_manager_link.h"
#include "taskmanager/module_store.h"
#include "taskmanager/order_record.h"
#include "taskmanager/progress_message.h"

namespace freshet {

namespace {

JobManagerLink::Options link_options(const TaskExecutor::Options& options) {
  JobManagerLink::Options link;
  link.job_manager = options.job_manager;
  link.secret = options.secret;
  link.library_version = options.library_version;
  link.connect_timeout = options.connect_timeout;
  link.backoff_first = options.retry_first;
  link.backoff_max = options.retry_max;
  return link;
}

BlobFetch::Options fetch_options(const TaskExecutor::Options& options, Random& random,
                                 const std::string& what) {
  BlobFetch::Options fetch;
  fetch.what = what;
  fetch.random = &random;
  fetch.job_manager = options.job_manager;
  fetch.secret = options.secret;
  fetch.library_version = options.library_version;
  return fetch;
}

}  // namespace

/// Everything runs on the mailbox' thread. Jobs and tasks belong to one registration: when that is
/// lost all of them go before the next one starts. What a job does elsewhere ends here only while
/// the job is in one of the maps below, so `this` and the job are alive in every such continuation.
class TaskExecutor::Impl final : public JobManagerLink::Handler, public HostedTasks::Owner {
 public:
  Impl(Options options, const Environment& environment)
      : options_(std::move(options)),
        environment_(environment),
        main_(environment.main),
        modules_(options_.state_directory + "/modules",
                 fetch_options(options_, environment.random, "module"),
                 {environment.transport, main_, environment.io, environment.modules,
                  environment.files, environment.faults}),
        groups_({options_.descriptor_cache_bytes, options_.host_id,
                 fetch_options(options_, environment.random, "description of an input")},
                environment.transport, main_),
        link_(std::make_shared<JobManagerLink>(link_options(options_), environment.transport, main_,
                                               environment.random, *this)) {}

  void start() {
    HostedTasks::Options tasks;
    tasks.slots = options_.slots;
    tasks.cancellation_timeout = options_.cancellation_timeout;
    tasks.watchdog_timeout = options_.watchdog_timeout;
    tasks.on_fatal = environment_.on_fatal;
    tasks.labels = options_.labels;
    tasks.metrics = environment_.metrics;
    tasks_ = std::make_shared<HostedTasks>(
        tasks,
        TaskBuilderEnvironment{environment_.shuffle, environment_.tasks, environment_.clock,
                               environment_.files, environment_.random, environment_.faults,
                               environment_.recorder, options_.channel_hash, options_.slots,
                               options_.memory},
        main_, *this);
    link_->start();
  }

  void stop(std::function<void()> done) {
    stopped_ = std::move(done);
    stopping_ = true;
    if (tasks_) tasks_->cancel_all();
    end_session_if_empty();
  }

  void report_crash(CrashReport crash, std::function<void()> done);

  /// Nothing calls back any more.
  void abandon() {
    link_->abandon();
    if (tasks_) tasks_->abandon();
  }

  bool registered() const { return link_->registered(); }
  uint32_t free_slots() const { return tasks_ ? tasks_->free_slots() : options_.slots; }
  size_t hosted_tasks() const { return tasks_ ? tasks_->size() : 0; }

  // JobManagerLink::Handler
  void on_greeted(uint64_t epoch) override;
  void fill_registration(proto::Envelope* envelope, const Address& local) override;
  void fill_heartbeat(proto::Envelope* envelope) override;
  void on_registered() override {}
  Status on_message(const proto::Envelope& envelope) override;
  void on_lost(const Status& why) override;

  // HostedTasks::Owner
  void on_task_state(const TaskStateChange& change) override;
  void on_channel_loss(const AttemptId& consumer, const ChannelLoss& loss) override;

 private:
  void attribute(CrashReport*) const;
  void send_state(const TaskStateChange& change);
  Status on_deploy(const proto::DeployTasks& message);
  void fetch_groups(const HostedJob& job, Deployment deployment);
  void on_groups_fetched(Deployment deployment, Status status);
  void prepare(HostedJob* job, Deployment deployment);
  void start_tasks(HostedJob* job, std::vector<TaskDeployment> tasks, bool check);
  void fail_before_start(const std::vector<TaskDeployment>& tasks, const Status& status);
  Status on_provoke(const proto::ProvokeFailure& message);
  Status on_commit(const proto::Commit& message);
  Status on_release(const proto::ReleaseJob& message);
  Status on_release_partitions(const proto::ReleasePartitions& message);
  void release_if_empty(const JobId& id);
  void end_session_if_empty();
  void clean_up_orphans();
  Result<HostedJob*> hosted_job(JobInformation information);
  void send_commit_done(const JobId& job, uint64_t commit_id, const Status& status);
  void send_released(const JobId& job, bool cleaned_up);

  const Options options_;
  const Environment environment_;
  Mailbox main_;
  ModuleStore modules_;
  GateGroupCache groups_;
  std::shared_ptr<HostedTasks> tasks_;
  std::map<JobId, std::shared_ptr<HostedJob>> jobs_;
  std::map<JobId, std::shared_ptr<HostedJob>>
      releasing_;  // Its last tasks end, or it is cleaned up.
  OrderRecord orders_;
  uint64_t epoch_ = 0;  // Of the JobManager that the jobs are of; 0: none yet.
  uint64_t greeted_epoch_ = 0;
  std::map<JobId, std::shared_ptr<HostedJob>> orphans_;  // Of a session that was lost.
  bool session_lost_ = false;
  bool stopping_ = false;
  std::function<void()> stopped_;
  std::shared_ptr<JobManagerLink> link_;
};

void TaskExecutor::Impl::on_greeted(uint64_t epoch) {
  greeted_epoch_ = epoch;
  if (epoch_ == epoch) orphans_.clear();  // It knows them, and has them cleaned up when they end.
  clean_up_orphans();
}

/// Nobody goes on with a job whose JobManager is gone. What it left would be in the way of the next
/// one, so that no slot is offered before that is removed.
void TaskExecutor::Impl::clean_up_orphans() {
  if (orphans_.empty()) {
    epoch_ = greeted_epoch_;
    return link_->register_now();
  }
  const auto& [id, job] = *orphans_.begin();
  LOG_INFO("orphaned_job_cleaned_up", {{"job", id}});
  environment_.shuffle.release_stored_of(id);
  job->clean_up([this, id = id](const Status&) {
    orphans_.erase(id);
    clean_up_orphans();
  });
}

void TaskExecutor::Impl::fill_registration(proto::Envelope* envelope, const Address& local) {
  proto::RegisterTaskManager* registration = envelope->mutable_register_task_manager();
  pass_mark(environment_.faults, "register.before_send");
  const Address data = environment_.shuffle.data_address();
  registration->set_task_manager(options_.id.value);
  registration->set_name(options_.name);
  registration->set_host_id(options_.host_id);
  registration->set_data_host(data.is_wildcard() ? local.host : data.host);
  const bool reached_elsewhere = options_.external_data_port != 0;
  registration->set_data_port(reached_elsewhere ? options_.external_data_port : data.port);
  // What stands before its port would be passed by.
  if (const auto unix_address = environment_.shuffle.unix_data_address();
      unix_address && !reached_elsewhere)
    registration->set_unix_address(unix_address->to_string());
  registration->set_slots(options_.slots);
  registration->set_pid(options_.pid);
  registration->set_log_path(options_.log_path);
}

void TaskExecutor::Impl::fill_heartbeat(proto::Envelope* envelope) {
  proto::Heartbeat* heartbeat = envelope->mutable_heartbeat();
  tasks_->for_each([&](const AttemptId& attempt, const TaskNumbers& numbers) {
    to_proto(attempt, heartbeat->add_hosted());
    proto::TaskProgress* progress = heartbeat->add_progress();
    to_proto(attempt, numbers, progress);
    to_proto(numbers.gauges, progress->mutable_gauges());
  });
  if (environment_.numbers) to_proto(environment_.numbers(), heartbeat->mutable_status());
}

Status TaskExecutor::Impl::on_message(const proto::Envelope& envelope) {
  main_.assert_on_thread();
  switch (envelope.message_case()) {
    case proto::Envelope::kDeployTasks:
      return on_deploy(envelope.deploy_tasks());
    case proto::Envelope::kCancelTasks:
      for (const proto::AttemptProto& attempt : envelope.cancel_tasks().attempts())
        tasks_->cancel(from_proto(attempt));
      return Status();
    case proto::Envelope::kFinishTasks:
      for (const proto::AttemptProto& attempt : envelope.finish_tasks().attempts())
        tasks_->finish(from_proto(attempt));
      return Status();
    case proto::Envelope::kReleasePartitions:
      return on_release_partitions(envelope.release_partitions());
    case proto::Envelope::kProvokeFailure:
      return on_provoke(envelope.provoke_failure());
    case proto::Envelope::kCommit:
      return on_commit(envelope.commit());
    case proto::Envelope::kReleaseJob:
      return on_release(envelope.release_job());
    default:
      return invalid_argument("message " + std::to_string(envelope.message_case()) +
                              " is not for a TaskManager");
  }
}

Result<HostedJob*> TaskExecutor::Impl::hosted_job(JobInformation information) {
  auto& job = jobs_[information.id];
  if (job != nullptr) {
    const JobInformation& known = job->information();
    if (known.module_hash != information.module_hash ||
        known.fingerprint != information.fingerprint || known.build != information.build ||
        (known.graph != information.graph && *known.graph != *information.graph)) {
      return invalid_argument("job " + information.id.to_string() + " is not what it was before");
    }
    return job.get();
  }
  job = std::make_shared<HostedJob>(
      std::move(information),
      HostedJob::Environment{modules_, main_, environment_.io, environment_.files,
                             environment_.faults, options_.cancellation_timeout,
                             options_.watchdog_timeout, environment_.on_fatal});
  return job.get();
}

/// What comes again, or late, changes nothing.
Status TaskExecutor::Impl::on_deploy(const proto::DeployTasks& message) {
  const JobId id = from_proto(message.has_job() ? message.job().job() : message.known_job());
  if (orders_.is_released(id)) return Status();
  KnownDescriptors known;
  known.job = [&](const JobId& id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second->information();
  };
  known.group = [&](const JobId& id, const std::string& hash) { return groups_.find(id, hash); };
  ASSIGN_OR_RETURN(Deployment deployment,
                   parse_deployment(message, options_.slots, options_.host_id, known));
  std::erase_if(deployment.tasks, [this](const TaskDeployment& task) {
    return !orders_.note_deployment(task.attempt);
  });
  if (deployment.tasks.empty()) return Status();
  ASSIGN_OR_RETURN(HostedJob* const job, hosted_job(deployment.job));
  for (const NamedGroup& one : deployment.groups) {
    if (!one.hash.empty() && one.group) groups_.add(deployment.job.id, one.hash, one.group);
  }
  std::erase_if(deployment.tasks,
                [&](const TaskDeployment& task) { return !tasks_->add(task, !stopping_); });
  if (deployment.is_whole()) {
    prepare(job, std::move(deployment));
  } else {
    fetch_groups(*job, std::move(deployment));
  }
  return Status();
}

void TaskExecutor::Impl::fetch_groups(const HostedJob& job, Deployment deployment) {
  struct Fetches {
    Deployment deployment;
    Status failure;
    size_t left = 0;
  };
  const auto fetches = std::make_shared<Fetches>(Fetches{std::move(deployment), {}, 0});
  for (NamedGroup& one : fetches->deployment.groups) {
    if (one.group) continue;
    fetches->left++;
    groups_.fetch(job.information(), one.hash,
                  [this, fetches, &one](const Result<GateGroupCache::Group>& group) {
                    if (group.ok()) {
                      one.group = *group;
                    } else {
                      fetches->failure = group.status();
                    }
                    if (--fetches->left == 0)
                      on_groups_fetched(std::move(fetches->deployment), fetches->failure);
                  });
  }
}

/// Unless the job was released meanwhile.
void TaskExecutor::Impl::on_groups_fetched(Deployment deployment, Status status) {
  const auto found = jobs_.find(deployment.job.id);
  if (found == jobs_.end()) return;
  if (status.ok()) status = deployment.connect();
  if (!status.ok()) return fail_before_start(deployment.tasks, status);
  prepare(found->second.get(), std::move(deployment));
}

void TaskExecutor::Impl::prepare(HostedJob* job, Deployment deployment) {
  job->prepare([this, job, check = deployment.check,
                tasks = std::move(deployment.tasks)](const Status& status) mutable {
    if (!status.ok()) return fail_before_start(tasks, status);
    start_tasks(job, std::move(tasks), check);
  });
}

void TaskExecutor::Impl::fail_before_start(const std::vector<TaskDeployment>& tasks,
                                           const Status& status) {
  for (const TaskDeployment& task : tasks) tasks_->fail_before_start(task.attempt, status, {});
}

void TaskExecutor::Impl::start_tasks(HostedJob* job, std::vector<TaskDeployment> tasks,
                                     bool check) {
  std::set<VertexId> to_check;
  for (const TaskDeployment& task : tasks) {
    const AttemptId& attempt = task.attempt;
    job->ran(attempt.subtask.vertex);
    if (check && attempt.subtask.index == 0) to_check.insert(attempt.subtask.vertex);
  }
  auto start = [this, job, tasks = std::move(tasks)](const std::map<VertexId, Status>& failed) {
    std::vector<const TaskDeployment*> sound;
    for (const TaskDeployment& task : tasks) {
      const auto found = failed.find(task.attempt.subtask.vertex);
      if (found != failed.end()) {
        tasks_->fail_before_start(task.attempt, found->second, {});
      } else {
        sound.push_back(&task);
      }
    }
    tasks_->start(sound, job->information(), job->built());
  };
  if (to_check.empty()) return start({});
  job->check(std::move(to_check), std::move(start));
}

Status TaskExecutor::Impl::on_provoke(const proto::ProvokeFailure& message) {
  const auto failure = static_cast<ProvokedFailure>(message.failure());
  if (message.failure() > UINT8_MAX || !is_valid(failure))
    return invalid_argument("no way to fail has the number " + std::to_string(message.failure()));
  tasks_->provoke(from_proto(message.attempt()), failure);
  return Status();
}

Status TaskExecutor::Impl::on_commit(const proto::Commit& message) {
  ASSIGN_OR_RETURN(JobInformation information, parse_job_information(message.job()));
  std::vector<CommittableBytes> committables;
  for (const proto::Committable& one : message.committables())
    committables.push_back({OperatorId{one.operator_id()}, one.payload()});
  const JobId id = information.id;
  const uint64_t commit_id = message.commit_id();
  if (orders_.is_released(id)) return Status();  // It comes late: all was published before.
  ASSIGN_OR_RETURN(HostedJob* const job, hosted_job(std::move(information)));
  for (const CommittableBytes& one : committables) {
    for (const JobVertex& vertex : job->information().graph->vertices) {
      for (const ChainedOperator& chained : vertex.operators)
        if (chained.id == one.operator_id) job->ran(vertex.id);
    }
  }
  job->prepare([this, job, id, commit_id,
                committables = std::move(committables)](const Status& status) mutable {
    if (!status.ok()) return send_commit_done(id, commit_id, status);
    job->commit(std::move(committables), [this, id, commit_id](const Status& result) {
      send_commit_done(id, commit_id, result);
    });
  });
  return Status();
}

void TaskExecutor::Impl::send_commit_done(const JobId& job, uint64_t commit_id,
                                          const Status& status) {
  LOG_INFO("committed", {{"job", job}, {"commit", commit_id}, {"status", status}});
  proto::Envelope envelope;
  proto::CommitDone* done = envelope.mutable_commit_done();
  to_proto(job, done->mutable_job());
  done->set_commit_id(commit_id);
  to_proto(status, done->mutable_status());
  link_->send(envelope);
}

Status TaskExecutor::Impl::on_release(const proto::ReleaseJob& message) {
  const JobId id = from_proto(message.job());
  if (message.has_clean_up()) {
    ASSIGN_OR_RETURN(JobInformation information, parse_job_information(message.clean_up()));
    if (information.id != id) return invalid_argument("a clean-up of another job");
    const auto releasing = releasing_.find(id);
    if (releasing != releasing_.end()) {
      releasing->second->order_clean_up();
      return Status();
    }
    ASSIGN_OR_RETURN(HostedJob* const job, hosted_job(std::move(information)));
    job->order_clean_up();
  }
  orders_.note_release(id);
  if (releasing_.contains(id)) return Status();
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    send_released(id, false);
    return Status();
  }
  releasing_[id] = std::move(found->second);
  jobs_.erase(found);
  if (tasks_->hosts_job(id)) {
    tasks_->end_job(id);
  } else {
    release_if_empty(id);
  }
  return Status();
}

Status TaskExecutor::Impl::on_release_partitions(const proto::ReleasePartitions& message) {
  const JobId id = from_proto(message.job());
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return Status();
  const JobGraph& graph = *found->second->information().graph;
  for (const proto::PartitionsOfDataset& one : message.partitions()) {
    if (one.dataset() >= graph.edges.size() || one.begin() >= one.end() ||
        one.end() > graph.vertices[graph.edges[one.dataset()].producer.value].parallelism)
      return invalid_argument("partitions to release that the job does not have");
    for (uint32_t producer = one.begin(); producer < one.end(); producer++)
      environment_.shuffle.release_stored({id, DatasetId{one.dataset()}, producer, one.attempt()});
  }
  return Status();
}

void TaskExecutor::Impl::release_if_empty(const JobId& id) {
  const auto found = releasing_.find(id);
  if (found == releasing_.end() || tasks_->hosts_job(id)) return;
  environment_.shuffle.release_stored_of(id);
  found->second->clean_up([this, id](const Status&) {
    if (releasing_.at(id)->needs_clean_up()) return release_if_empty(id);
    const auto job = releasing_.extract(id).mapped();
    groups_.forget(id);
    send_released(id, job->cleaned_up());
  });
}

void TaskExecutor::Impl::send_released(const JobId& job, bool cleaned_up) {
  pass_mark(environment_.faults, "release.before_ack");
  proto::Envelope envelope;
  proto::JobReleased* released = envelope.mutable_job_released();
  to_proto(job, released->mutable_job());
  released->set_cleaned_up(cleaned_up);
  link_->send(envelope);
}

/// Threads that code of users started have no name of a job, but run the code of a module.
void TaskExecutor::Impl::attribute(CrashReport* crash) const {
  if (crash->job || crash->culprit_object.empty()) return;
  std::set<JobId> candidates;
  for (const auto* jobs : {&jobs_, &releasing_, &orphans_}) {
    for (const auto& [id, job] : *jobs) {
      if (modules_.path_of(job->information().module_hash) == crash->culprit_object)
        candidates.insert(id);
    }
  }
  if (candidates.size() != 1) return;  // Nobody knows which of them.
  crash->job = *candidates.begin();
  crash->code_name = "a thread of its own";
}

void TaskExecutor::Impl::report_crash(CrashReport crash, std::function<void()> done) {
  attribute(&crash);
  proto::Envelope envelope;
  to_proto(crash, envelope.mutable_task_manager_crashes());
  link_->end_with(envelope, std::move(done));
}

void TaskExecutor::Impl::on_lost(const Status&) {
  session_lost_ = true;
  tasks_->cancel_all();
  end_session_if_empty();
}

void TaskExecutor::Impl::end_session_if_empty() {
  if (!session_lost_ && !stopping_) return;
  if (tasks_ && tasks_->size() != 0) return;
  for (const auto* jobs : {&jobs_, &releasing_}) {
    for (const auto& [id, job] : *jobs) groups_.forget(id);
  }
  orphans_.merge(jobs_);
  jobs_.clear();
  releasing_.clear();
  orders_.clear();
  if (stopping_) {
    if (stopped_) link_->stop(std::exchange(stopped_, nullptr));
    return;
  }
  session_lost_ = false;
  link_->try_again();
}

namespace {

constexpr uint64_t kCommittableBytesMax = 32u << 20;

/// What a sink leaves travels in one message, and back in another.
Status check_size(const std::vector<CommittableBytes>& committables) {
  uint64_t bytes = 0;
  for (const CommittableBytes& one : committables) bytes += one.payload.size();
  if (bytes <= kCommittableBytesMax) return Status();
  return invalid_argument("leaves " + std::to_string(bytes) + " bytes to be published; at most " +
                          std::to_string(kCommittableBytesMax) + " are allowed for each task");
}

}  // namespace

void TaskExecutor::Impl::on_task_state(const TaskStateChange& change) {
  main_.assert_on_thread();
  if (const Status status = check_size(change.committables); !status.ok()) {
    TaskStateChange failed;
    failed.attempt = change.attempt;
    failed.state = TaskState::kFailed;
    failed.cause = status;
    failed.progress = change.progress;
    send_state(failed);
    return tasks_->cancel(change.attempt);
  }
  send_state(change);
  if (!is_terminal(change.state)) return;
  release_if_empty(change.attempt.job);
  end_session_if_empty();
}

void TaskExecutor::Impl::send_state(const TaskStateChange& change) {
  proto::Envelope envelope;
  proto::TaskStateChanged* message = envelope.mutable_task_state_changed();
  to_proto(change.attempt, message->mutable_attempt());
  message->set_state(static_cast<uint32_t>(change.state));
  to_proto(change.cause, message->mutable_cause());
  message->set_operator_name(change.operator_name);
  for (const CommittableBytes& one : change.committables) {
    proto::Committable* committable = message->add_committables();
    committable->set_operator_id(one.operator_id.value);
    committable->set_payload(one.payload);
  }
  for (const StoredOutput& one : change.stored) {
    proto::StoredOutput* stored = message->add_stored();
    stored->set_dataset(one.dataset.value);
    stored->set_hash(one.hash);
  }
  to_proto(change.attempt, numbers_of(change.progress), message->mutable_progress());
  link_->send(envelope);
}

void TaskExecutor::Impl::on_channel_loss(const AttemptId& consumer, const ChannelLoss& loss) {
  LOG_WARN("channels_lost", {{"job", consumer.job},
                             {"attempt", consumer},
                             {"dataset", loss.dataset.value},
                             {"task_manager", loss.task_manager},
                             {"status", loss.cause}});
  proto::Envelope envelope;
  proto::ChannelsLost* message = envelope.mutable_channels_lost();
  to_proto(consumer, message->mutable_consumer());
  message->set_dataset(loss.dataset.value);
  message->set_producer_begin(loss.producer_begin);
  message->set_producer_end(loss.producer_end);
  message->set_producer_task_manager(loss.task_manager.value);
  to_proto(loss.cause, message->mutable_cause());
  pass_mark(environment_.faults, "loss.before_report");
  link_->send(envelope);
}

TaskExecutor::TaskExecutor(Options options, const Environment& environment)
    : impl_(std::make_unique<Impl>(std::move(options), environment)) {}

TaskExecutor::~TaskExecutor() { impl_->abandon(); }

void TaskExecutor::start() { impl_->start(); }

void TaskExecutor::stop(std::function<void()> done) { impl_->stop(std::move(done)); }

void TaskExecutor::report_crash(const CrashReport& crash, std::function<void()> done) {
  impl_->report_crash(crash, std::move(done));
}

bool TaskExecutor::registered() const { return impl_->registered(); }

uint32_t TaskExecutor::free_slots() const { return impl_->free_slots(); }

size_t TaskExecutor::hosted_tasks() const { return impl_->hosted_tasks(); }

}  // namespace freshet
