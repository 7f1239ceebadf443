#include "jobmanager/job_manager.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "jobmanager/blob_server.h"
#include "jobmanager/client_requests.h"
#include "jobmanager/control_messages.h"
#include "jobmanager/control_server.h"
#include "jobmanager/task_manager_outbox.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {

constexpr size_t kTaskManagersMax = 10'000;
constexpr Duration kRegistrationMemory = 1min;  // Longer than a connection may wait to register.

Status not_expected(PeerRole role) {
  return data_loss(
      fmt::format("a message that a peer of kind {} does not send", static_cast<int>(role)));
}

}  // namespace

/// Lives until the last function that was posted for it has run.
class JobManager::Shell final : public std::enable_shared_from_this<JobManager::Shell>,
                                public ControlServer::Handler,
                                public JobDispatcher::Outlet {
 public:
  Shell(Options options, Transport& transport, Executor& main, Executor& io, Clock& clock,
        Random& random, FileSystem& files, Faults& faults)
      : options_(std::move(options)),
        transport_(transport),
        io_(io),
        clock_(clock),
        secure_random_(random),
        random_(random.fork()),
        files_(files),
        faults_(faults),
        mailbox_(main) {}

  Result<Address> start();
  void stop(UniqueFunction<void()> stopped);
  Mailbox& mailbox() { return mailbox_; }
  const JobDispatcher& jobs() const { return *jobs_; }
  Status cancel(JobId job) { return jobs_->cancel(job); }
  std::optional<LastWord> last_word(TaskManagerId id) const {
    const auto at = links_.find(id);
    if (at == links_.end()) return std::nullopt;
    return LastWord{at->second.last_heard, at->second.numbers};
  }
  void observe(UniqueFunction<void(const JobMaster&)> observer) { observer_ = std::move(observer); }

 private:
  struct Link {
    SessionNumber session = 0;
    TimePoint last_heard;
    std::shared_ptr<TaskManagerOutbox> outbox;
    TaskManagerNumbers numbers;              // Of its last heartbeat.
    std::optional<uint64_t> heartbeat = {};  // The number of that; each is larger.
    bool closed = false;  // It is lost as soon as somebody says why, or nobody does in time.
  };

  struct Registration {
    uint64_t number = 0;
    TimePoint time;
  };

  Status on_message(SessionNumber, PeerRole, proto::Envelope) override;
  void on_closed(SessionNumber, PeerRole, const Status& why) override;
  void send_to_task_manager(TaskManagerId, std::string message) override;
  void make_and_send_to_task_manager(TaskManagerId, UniqueFunction<std::string()> make) override;
  void send_to_all_task_managers(const std::string& message) override;
  void on_job_event(const JobMaster& job) override {
    if (observer_) observer_(job);
  }

  Status on_task_manager_message(SessionNumber, proto::Envelope&);
  Status on_register(SessionNumber, const proto::RegisterTaskManager&);
  /// What a TaskManager said on a connection that it gave up may come after its next registration.
  Status note_registration(TaskManagerId, uint64_t number);
  void forget_old_registrations();
  Status reply_to_register(SessionNumber, TaskManagerId);
  Status on_heartbeat(SessionNumber, TaskManagerId, const proto::Heartbeat&);
  void lose(TaskManagerId, const TaskManagerLoss&);
  Status on_last_words(SessionNumber, const proto::TaskManagerCrashes&);
  void on_process_ended(SessionNumber, const proto::Envelope&);
  std::optional<TaskManagerId> task_manager_of_process(const std::string& host_id,
                                                       uint32_t pid) const;
  void wait_for_explanation(TaskManagerId, Link&, const Status& why);
  void unregister(TaskManagerId);
  void forget(TaskManagerId, const TaskManagerLoss&);
  void schedule_heartbeat_check();
  void check_heartbeats();

  const Options options_;
  Transport& transport_;
  Executor& io_;
  Clock& clock_;
  Random& secure_random_;  // If any is.
  const std::unique_ptr<Random> random_;
  FileSystem& files_;
  Faults& faults_;
  Mailbox mailbox_;
  Duration heartbeat_interval_{};
  Duration heartbeat_timeout_{};
  TimerId heartbeat_timer_;
  TimePoint last_heartbeat_check_;
  bool stopped_ = false;

  std::shared_ptr<ControlServer> server_;
  std::shared_ptr<BlobServer> blobs_;
  std::shared_ptr<JobDispatcher> jobs_;
  std::shared_ptr<ClientRequests> clients_;
  std::map<TaskManagerId, Link> links_;
  std::map<SessionNumber, TaskManagerId> task_manager_of_;  // Registered sessions.
  std::map<TaskManagerId, Registration> registrations_;     // The latest of each.
  UniqueFunction<void(const JobMaster&)> observer_;
};

Result<Address> JobManager::Shell::start() {
  const Configuration& c = options_.configuration;
  RETURN_IF_ERROR(check(c));
  ASSIGN_OR_RETURN(heartbeat_interval_, c.duration(config::kHeartbeatInterval));
  ASSIGN_OR_RETURN(heartbeat_timeout_, c.duration(config::kHeartbeatTimeout));
  ASSIGN_OR_RETURN(const Duration slot_timeout, c.duration(config::kSlotTimeout));
  ASSIGN_OR_RETURN(const bool submission, c.boolean(config::kSubmission));
  ASSIGN_OR_RETURN(const uint64_t offload_min, c.bytes(config::kOffloadMin));
  ControlServer::Options server;
  server.bind = options_.bind;
  server.secret = c.text(config::kSecret);
  server.library_version = FRESHET_VERSION;
  server.epoch = random_->next();
  server_ = std::make_shared<ControlServer>(server, transport_, mailbox_, secure_random_, *this);
  BlobServer::Options blobs;
  blobs.directory = options_.state_dir + "/blobs";
  blobs_ = std::make_shared<BlobServer>(blobs, files_, mailbox_.executor(), io_);
  jobs_ = std::make_shared<JobDispatcher>(
      JobDispatcher::Options{slot_timeout, c, offload_min, options_.share_groups, &faults_}, *this,
      mailbox_, clock_, *random_);
  blobs_->look_first(
      [groups = jobs_->encoded_groups()](const std::string& hash) { return groups->find(hash); });
  clients_ =
      std::make_shared<ClientRequests>(ClientRequests::Options{server.epoch, submission, &faults_},
                                       *jobs_, *blobs_, *server_, mailbox_);
  ASSIGN_OR_RETURN(const Address address, server_->listen());
  mailbox_.post("jobmanager_start", [self = shared_from_this(), address] {
    LOG_INFO("jobmanager_started", {{"address", address.to_string()}});
    if (self->stopped_) return;
    self->blobs_->start();
    self->schedule_heartbeat_check();
  });
  return address;
}

void JobManager::Shell::stop(UniqueFunction<void()> stopped) {
  mailbox_.assert_on_thread();
  stopped_ = true;
  LOG_INFO("jobmanager_stopped", {{"task_managers", links_.size()}});
  mailbox_.cancel(heartbeat_timer_);
  links_.clear();
  task_manager_of_.clear();
  server_->stop();
  jobs_->stop();
  blobs_->stop([self = shared_from_this(), stopped = std::move(stopped)]() mutable {
    if (stopped) stopped();
  });
}

// ---- Sessions ----

Status JobManager::Shell::on_message(SessionNumber session, PeerRole role,
                                     proto::Envelope envelope) {
  mailbox_.assert_on_thread();
  if (role == PeerRole::kClient && envelope.has_process_ended()) {
    on_process_ended(session, envelope);
    return Status();
  }
  if (ClientRequests::is_for(role, envelope)) return clients_->handle(session, std::move(envelope));
  if (role != PeerRole::kTaskManager) return not_expected(role);
  return on_task_manager_message(session, envelope);
}

void JobManager::Shell::on_closed(SessionNumber session, PeerRole, const Status& why) {
  clients_->on_closed(session);
  const auto it = task_manager_of_.find(session);
  if (it == task_manager_of_.end()) return;
  const TaskManagerId id = it->second;
  const Status lost = unavailable(why.ok() || why.code() == StatusCode::kAborted
                                      ? "the connection was closed"
                                      : "the connection was lost: " + why.message());
  if (options_.explanation_patience > Duration::zero())
    return wait_for_explanation(id, links_.at(id), lost);
  lose(id, lost);
}

void JobManager::Shell::wait_for_explanation(TaskManagerId id, Link& link, const Status& why) {
  link.closed = true;
  mailbox_.schedule(options_.explanation_patience, "no_explanation",
                    [weak = weak_from_this(), id, session = link.session, why] {
                      const auto self = weak.lock();
                      if (!self || self->stopped_) return;
                      const auto at = self->links_.find(id);
                      if (at != self->links_.end() && at->second.session == session)
                        self->lose(id, why);
                    });
}

void JobManager::Shell::lose(TaskManagerId id, const TaskManagerLoss& loss) {
  if (!links_.contains(id)) return;
  const TaskManagerInfo* info = jobs_->resources().find(id);
  LOG_WARN(
      "task_manager_lost",
      {{"task_manager", id}, {"name", info != nullptr ? info->name : ""}, {"cause", loss.why}});
  forget(id, loss);
}

void JobManager::Shell::unregister(TaskManagerId id) {
  const TaskManagerInfo* info = jobs_->resources().find(id);
  LOG_INFO("task_manager_unregistered",
           {{"task_manager", id}, {"name", info != nullptr ? info->name : ""}});
  forget(id, unavailable("it was told to stop"));
}

void JobManager::Shell::forget(TaskManagerId id, const TaskManagerLoss& loss) {
  const SessionNumber session = links_.at(id).session;
  task_manager_of_.erase(session);
  links_.erase(id);
  server_->close(session);
  jobs_->on_task_manager_lost(id, loss);
}

void JobManager::Shell::send_to_task_manager(TaskManagerId id, std::string message) {
  const auto it = links_.find(id);
  if (it != links_.end()) it->second.outbox->send(std::move(message));
}

void JobManager::Shell::make_and_send_to_task_manager(TaskManagerId id,
                                                      UniqueFunction<std::string()> make) {
  const auto it = links_.find(id);
  if (it != links_.end()) it->second.outbox->make_and_send(std::move(make));
}

void JobManager::Shell::send_to_all_task_managers(const std::string& message) {
  for (const auto& [id, link] : links_) link.outbox->send(message);
}

// ---- TaskManagers ----

Status JobManager::Shell::on_task_manager_message(SessionNumber session,
                                                  proto::Envelope& envelope) {
  if (envelope.has_register_task_manager()) {
    return on_register(session, envelope.register_task_manager());
  }
  const auto it = task_manager_of_.find(session);
  if (it == task_manager_of_.end() && envelope.has_task_manager_crashes())
    return on_last_words(session, envelope.task_manager_crashes());
  if (it == task_manager_of_.end()) return data_loss("a TaskManager that has not registered");
  const TaskManagerId id = it->second;
  links_.at(id).last_heard = mailbox_.now();
  switch (envelope.message_case()) {
    case proto::Envelope::kHeartbeat:
      return on_heartbeat(session, id, envelope.heartbeat());
    case proto::Envelope::kTaskStateChanged: {
      ASSIGN_OR_RETURN(TaskStateReport report,
                       control_messages::read(envelope.task_state_changed()));
      jobs_->on_task_state(id, std::move(report));
      return Status();
    }
    case proto::Envelope::kCommitDone: {
      const proto::CommitDone& done = envelope.commit_done();
      jobs_->on_commit_done(id, control_messages::read(done.job()), done.commit_id(),
                            control_messages::read(done.status()));
      return Status();
    }
    case proto::Envelope::kChannelsLost:
      jobs_->on_channels_lost(id, control_messages::read(envelope.channels_lost()));
      return Status();
    case proto::Envelope::kJobReleased:
      jobs_->on_job_released(id, control_messages::read(envelope.job_released().job()),
                             envelope.job_released().cleaned_up());
      return Status();
    case proto::Envelope::kTaskManagerCrashes:
      lose(id, control_messages::read(envelope.task_manager_crashes()));
      return Status();
    case proto::Envelope::kUnregisterTaskManager:
      unregister(id);
      return Status();
    default:
      return not_expected(PeerRole::kTaskManager);
  }
}

/// A TaskManager that cannot use its own connection any more. The end of this one tells it that it
/// was heard.
Status JobManager::Shell::on_last_words(SessionNumber session,
                                        const proto::TaskManagerCrashes& message) {
  lose(TaskManagerId{message.task_manager()}, control_messages::read(message));
  server_->close(session);
  return Status();
}

void JobManager::Shell::on_process_ended(SessionNumber session, const proto::Envelope& request) {
  constexpr size_t kHowBytesMax = 256;
  const proto::ProcessEnded& message = request.process_ended();
  const auto id = task_manager_of_process(message.host_id(), message.pid());
  if (id) lose(*id, unavailable("its process ended: " + message.how().substr(0, kHowBytesMax)));
  proto::Envelope reply;
  reply.set_request_id(request.request_id());
  reply.mutable_process_ended_reply()->set_was_here(id.has_value());
  server_->send(session, reply.SerializeAsString());
}

std::optional<TaskManagerId> JobManager::Shell::task_manager_of_process(const std::string& host_id,
                                                                        uint32_t pid) const {
  for (const auto& [id, link] : links_) {
    const TaskManagerInfo* info = jobs_->resources().find(id);
    if (info != nullptr && info->host_id == host_id && info->pid == pid) return id;
  }
  return std::nullopt;
}

Status JobManager::Shell::on_register(SessionNumber session,
                                      const proto::RegisterTaskManager& message) {
  if (task_manager_of_.contains(session)) return data_loss("a TaskManager registers twice");
  ASSIGN_OR_RETURN(const TaskManagerInfo info, control_messages::read(message));
  if (links_.size() >= kTaskManagersMax) return resource_exhausted("too many TaskManagers");
  RETURN_IF_ERROR(note_registration(info.id, message.number()));
  lose(info.id, unavailable("it registered again"));
  auto outbox = std::make_shared<TaskManagerOutbox>(
      mailbox_, io_,
      [server = server_, session](std::string bytes) { server->send(session, std::move(bytes)); });
  links_[info.id] = Link{session, mailbox_.now(), std::move(outbox), {}};
  task_manager_of_[session] = info.id;
  server_->set_established(session);
  LOG_INFO("task_manager_registered", {{"task_manager", info.id},
                                       {"name", info.name},
                                       {"host", info.host_id},
                                       {"slots", info.slots}});
  RETURN_IF_ERROR(reply_to_register(session, info.id));
  // Whatever it still runs belongs to a connection that was lost: those tasks have failed.
  job_commands::CancelTasks stale{info.id, {}};
  for (const proto::AttemptProto& attempt : message.hosted()) {
    stale.attempts.push_back(control_messages::read(attempt));
  }
  if (!stale.attempts.empty()) send_to_task_manager(info.id, control_messages::encode(stale));
  jobs_->on_task_manager_registered(info);
  return Status();
}

Status JobManager::Shell::note_registration(TaskManagerId id, uint64_t number) {
  if (number == 0) return data_loss("a registration without a number");
  Registration& latest = registrations_[id];
  if (number <= latest.number) {
    return failed_precondition(fmt::format("registration {} of {} comes after its registration {}",
                                           number, to_string(id), latest.number));
  }
  latest = {number, mailbox_.now()};
  return Status();
}

void JobManager::Shell::forget_old_registrations() {
  std::erase_if(registrations_, [this](const auto& entry) {
    return !links_.contains(entry.first) &&
           mailbox_.now() - entry.second.time > kRegistrationMemory;
  });
}

Status JobManager::Shell::reply_to_register(SessionNumber session, TaskManagerId id) {
  try {
    faults_.at("register.before_reply");
  } catch (const std::exception& error) {
    links_.erase(id);
    task_manager_of_.erase(session);
    return internal_error(error.what());
  }
  proto::Envelope envelope;
  proto::RegisterReply* reply = envelope.mutable_register_reply();
  control_messages::write(Status(), reply->mutable_status());
  reply->set_heartbeat_interval_ms(static_cast<uint64_t>(to_millis(heartbeat_interval_)));
  reply->set_heartbeat_timeout_ms(static_cast<uint64_t>(to_millis(heartbeat_timeout_)));
  server_->send(session, envelope.SerializeAsString());
  return Status();
}

Status JobManager::Shell::on_heartbeat(SessionNumber session, TaskManagerId id,
                                       const proto::Heartbeat& heartbeat) {
  proto::Envelope envelope;
  envelope.mutable_heartbeat_reply()->set_sequence(heartbeat.sequence());
  server_->send(session, envelope.SerializeAsString());
  Link& link = links_.at(id);
  // What comes again, or late, would tell of tasks as they were.
  if (link.heartbeat && heartbeat.sequence() <= *link.heartbeat) return Status();
  link.heartbeat = heartbeat.sequence();
  for (const proto::TaskProgress& progress : heartbeat.progress()) {
    jobs_->on_progress(id, control_messages::read(progress.attempt()),
                       control_messages::read(progress));
  }
  link.numbers = control_messages::read(heartbeat.status());
  std::vector<AttemptId> hosted;
  for (const proto::AttemptProto& attempt : heartbeat.hosted()) {
    hosted.push_back(control_messages::read(attempt));
  }
  jobs_->on_hosted(id, hosted);
  return Status();
}

void JobManager::Shell::schedule_heartbeat_check() {
  last_heartbeat_check_ = mailbox_.now();
  heartbeat_timer_ =
      mailbox_.schedule(heartbeat_interval_, "heartbeat_check", [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->check_heartbeats();
      });
}

void JobManager::Shell::check_heartbeats() {
  if (stopped_) return;
  // After a pause of this process its timers come before the heartbeats that have arrived
  // meanwhile.
  const bool late = mailbox_.now() - last_heartbeat_check_ > 2 * heartbeat_interval_;
  if (late) return schedule_heartbeat_check();
  std::vector<TaskManagerId> silent;
  for (const auto& [id, link] : links_) {
    if (mailbox_.now() - link.last_heard > heartbeat_timeout_) silent.push_back(id);
  }
  for (const TaskManagerId id : silent) {
    lose(id, unavailable("no heartbeat for " + format_duration(heartbeat_timeout_)));
  }
  forget_old_registrations();
  schedule_heartbeat_check();
}

// ---- JobManager ----

Status JobManager::check(const Configuration& configuration) {
  ASSIGN_OR_RETURN(const Duration interval, configuration.duration(config::kHeartbeatInterval));
  ASSIGN_OR_RETURN(const Duration timeout, configuration.duration(config::kHeartbeatTimeout));
  if (interval <= Duration::zero() || timeout <= interval) {
    return invalid_argument(fmt::format(
        "{}: '{}' must be longer than {}, which is '{}', and both more than 0",
        config::kHeartbeatTimeout.name, configuration.text(config::kHeartbeatTimeout),
        config::kHeartbeatInterval.name, configuration.text(config::kHeartbeatInterval)));
  }
  return make_restart_backoff(configuration, *make_seeded_random(0)).status();
}

JobManager::JobManager(Options options, Transport& transport, Executor& main, Executor& io,
                       Clock& clock, Random& random, FileSystem& files, Faults& faults)
    : shell_(std::make_shared<Shell>(std::move(options), transport, main, io, clock, random, files,
                                     faults)) {}

JobManager::~JobManager() { CHECK(!started_ || stopped_); }

Result<Address> JobManager::start() {
  CHECK(!started_);
  Result<Address> address = shell_->start();
  started_ = address.ok();
  return address;
}

void JobManager::stop(UniqueFunction<void()> stopped) {
  if (!started_ || stopped_) return;
  stopped_ = true;
  if (shell_->mailbox().executor().on_thread()) return shell_->stop(std::move(stopped));
  shell_->mailbox().post("jobmanager_stop",
                         [shell = shell_, stopped = std::move(stopped)]() mutable {
                           shell->stop(std::move(stopped));
                         });
}

Status JobManager::cancel(JobId job) { return shell_->cancel(job); }

std::optional<JobManager::LastWord> JobManager::last_word(TaskManagerId id) const {
  return shell_->last_word(id);
}

const JobDispatcher& JobManager::jobs() const { return shell_->jobs(); }

void JobManager::observe(UniqueFunction<void(const JobMaster&)> observer) {
  shell_->observe(std::move(observer));
}

}  // namespace freshet
