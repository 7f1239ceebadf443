#include "runtime/app/control_client.h"

#include <fmt/format.h>

#include <future>
#include <map>

#include "network/message_channel.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/thread_executor.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/hello.h"

namespace freshet {

namespace {

constexpr size_t kBlobChunkBytes = 1u << 20;
constexpr uint64_t kHelloId = 0;

Status status_of(const proto::StatusProto& status) {
  if (status.code() == 0) return Status();
  const auto last = static_cast<uint32_t>(StatusCode::kInternal);
  const auto code =
      status.code() > last ? StatusCode::kInternal : static_cast<StatusCode>(status.code());
  return Status(code, status.message());
}

Status unexpected_answer() {
  return internal_error(
      "the JobManager gave an answer of another kind; are both of the same version?");
}

/// A message that is too large would cost the connection.
Status check_size(const proto::Envelope& request) {
  constexpr size_t kRequestIdBytes = 16;
  const size_t bytes = request.ByteSizeLong() + kRequestIdBytes;
  if (bytes <= kMessageBytesMax) return Status();
  return invalid_argument(
      fmt::format("a request of {} bytes is too large for the JobManager; at "
                  "most {} are allowed",
                  bytes, kMessageBytesMax));
}

JobId job_id_of(const proto::JobIdProto& id) { return {id.high(), id.low()}; }

void fill(const JobId& id, proto::JobIdProto* to) {
  to->set_high(id.high);
  to->set_low(id.low);
}

JobReport report_of(const proto::JobSummary& job) {
  JobReport report;
  report.id = job_id_of(job.job());
  report.name = job.name();
  const auto last = static_cast<uint32_t>(JobState::kRestarting);
  report.state = job.state() > last ? JobState::kCreated : static_cast<JobState>(job.state());
  report.submitted = job.submitted_epoch_ms();
  report.ended = job.ended_epoch_ms();
  report.tasks = job.tasks();
  report.tasks_running = job.tasks_running();
  report.tasks_finished = job.tasks_finished();
  report.restarts = job.restarts();
  report.source_records = job.source_records();
  report.cause = status_of(job.cause());
  report.waiting_for = job.waiting_for();
  report.tidying = job.tidying();
  return report;
}

TaskReport report_of(const proto::TaskSummary& task) {
  TaskReport report;
  const proto::AttemptProto& attempt = task.attempt();
  report.attempt = {
      job_id_of(attempt.job()), {VertexId{attempt.vertex()}, attempt.subtask()}, attempt.attempt()};
  report.name = task.name();
  const auto last = static_cast<uint32_t>(TaskState::kFailed);
  report.state = task.state() > last ? TaskState::kCreated : static_cast<TaskState>(task.state());
  report.task_manager = TaskManagerId{task.task_manager()};
  const proto::TaskProgress& progress = task.progress();
  report.records_in = progress.records_in();
  report.records_out = progress.records_out();
  report.bytes_in = progress.bytes_in();
  report.bytes_out = progress.bytes_out();
  report.source_records = progress.source_records();
  report.busy_ms = progress.busy_ms();
  report.idle_ms = progress.idle_ms();
  report.back_pressured_ms = progress.back_pressured_ms();
  report.latency_records = progress.gauges().latency_records();
  report.latency_p50_ms = progress.gauges().latency_p50_ms();
  report.latency_p95_ms = progress.gauges().latency_p95_ms();
  report.latency_max_ms = progress.gauges().latency_max_ms();
  return report;
}

}  // namespace

/// The connection and the requests under way. Owns a thread; all members belong to it.
class ControlClient::Session final : public MessageChannel::Handler {
 public:
  using Reply = Result<proto::Envelope>;
  using ReplyHandler = UniqueFunction<void(Reply)>;

  Session(const Options& options, Transport& transport, const Clock& clock)
      : options_(options),
        transport_(transport),
        executor_("client", clock),
        mailbox_(executor_),
        greeting_({HelloRole::kClient, options.job_manager, FRESHET_VERSION, options.secret},
                  *make_system_random()) {}

  ~Session() override {
    mailbox_.post("client_close", [this] {
      if (channel_) channel_->detach();
      fail_all(aborted("the client was closed"));
    });
    executor_.stop();
  }

  /// Connects and introduces itself; waits for the answer.
  Status introduce() {
    const Reply reply = wait_for([this](ReplyHandler done) {
      pending_[kHelloId] = Pending{std::move(done), TimerId{}};
      transport_.connect(options_.job_manager, options_.connect_timeout, [this](auto connection) {
        mailbox_.post("client_connected", [this, connection = std::move(connection)]() mutable {
          on_connected(std::move(connection));
        });
      });
    });
    return reply.ok() ? Status() : reply.status();
  }

  /// Sends envelopes of one request; waits for the answer. An error that the JobManager answers is
  /// an error.
  Reply call(std::vector<proto::Envelope> request) {
    for (const proto::Envelope& envelope : request) RETURN_IF_ERROR(check_size(envelope));
    Reply reply = wait_for([this, &request](ReplyHandler done) {
      if (!channel_) return done(Reply(lost_));
      const uint64_t id = next_request_++;
      pending_[id] = Pending{std::move(done), start_timeout(id, options_.request_timeout)};
      for (proto::Envelope& envelope : request) {
        envelope.set_request_id(id);
        if (channel_) channel_->send(envelope.SerializeAsString());
      }
    });
    if (reply.ok() && reply->has_error_reply()) {
      const Status error = status_of(reply->error_reply().status());
      return error.ok() ? unexpected_answer() : error;
    }
    return reply;
  }

  Reply call(proto::Envelope request) {
    std::vector<proto::Envelope> one;
    one.push_back(std::move(request));
    return call(std::move(one));
  }

 private:
  struct Pending {
    ReplyHandler done;
    TimerId timeout;
  };

  /// Runs `start` on the session's thread and waits until the handler that it is given was called.
  template <class Start>
  Reply wait_for(Start start) {
    auto promise = std::make_shared<std::promise<Reply>>();
    std::future<Reply> reply = promise->get_future();
    mailbox_.post("client_request", [&start, promise] {
      start(ReplyHandler([promise](Reply answer) { promise->set_value(std::move(answer)); }));
    });
    return reply.get();
  }

  TimerId start_timeout(uint64_t id, Duration after) {
    return mailbox_.schedule(after, "client_timeout", [this, id] {
      complete(id, deadline_exceeded(fmt::format("the JobManager at {} gave no answer",
                                                 options_.job_manager.to_string())));
    });
  }

  void on_connected(Result<std::shared_ptr<Connection>> connection) {
    if (!connection.ok()) return complete(kHelloId, unreachable(connection.status()));
    channel_ = MessageChannel::open(*std::move(connection), mailbox_, *this);
    pending_[kHelloId].timeout = start_timeout(kHelloId, options_.connect_timeout);
    channel_->send(greeting_.hello());
  }

  void on_greeting(proto::Envelope envelope) {
    const Result<std::string> answer = greeting_.on_message(envelope);
    if (!answer.ok()) return complete(kHelloId, answer.status());
    if (!greeting_.done()) return channel_->send(*answer);
    complete(kHelloId, std::move(envelope));
  }

  void on_message(const std::shared_ptr<MessageChannel>& channel, std::string payload) override {
    proto::Envelope envelope;
    if (!envelope.ParseFromString(payload)) return channel->close();
    if (!greeting_.done()) return on_greeting(std::move(envelope));
    const uint64_t id = envelope.request_id();
    complete(id, std::move(envelope));
  }

  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override {
    channel_.reset();
    lost_ = unavailable(fmt::format("the connection to the JobManager at {} was lost: {}",
                                    options_.job_manager.to_string(),
                                    why.ok() ? "it closed the connection" : why.message()));
    fail_all(lost_);
  }

  void complete(uint64_t id, Reply reply) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;  // Late.
    Pending pending = std::move(found->second);
    pending_.erase(found);
    mailbox_.cancel(pending.timeout);
    pending.done(std::move(reply));
  }

  void fail_all(const Status& why) {
    while (!pending_.empty()) complete(pending_.begin()->first, why);
  }

  Status unreachable(const Status& why) const {
    return unavailable(fmt::format(
        "JobManager cannot be reached at {}: {}; start one with 'freshet cluster start'",
        options_.job_manager.to_string(), why.message()));
  }

  const Options options_;
  Transport& transport_;
  ThreadExecutor executor_;
  Mailbox mailbox_;
  Greeting greeting_;
  std::shared_ptr<MessageChannel> channel_;
  std::map<uint64_t, Pending> pending_;
  uint64_t next_request_ = kHelloId + 1;
  Status lost_ = unavailable("not connected");
};

ControlClient::ControlClient(std::unique_ptr<Session> session) : session_(std::move(session)) {}

ControlClient::~ControlClient() = default;

Result<std::unique_ptr<ControlClient>> ControlClient::connect(const Options& options,
                                                              Transport& transport,
                                                              const Clock& clock) {
  auto session = std::make_unique<Session>(options, transport, clock);
  RETURN_IF_ERROR(session->introduce());
  return std::unique_ptr<ControlClient>(new ControlClient(std::move(session)));
}

Status ControlClient::put_blob(const std::string& hash, std::string_view bytes) {
  std::vector<proto::Envelope> chunks;
  size_t offset = 0;
  do {
    const std::string_view data = bytes.substr(offset, kBlobChunkBytes);
    offset += data.size();
    proto::PutBlob* chunk = chunks.emplace_back().mutable_put_blob();
    chunk->set_hash(hash);
    chunk->set_size(bytes.size());
    chunk->set_data(data.data(), data.size());
    chunk->set_last(offset == bytes.size());
  } while (offset < bytes.size());
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(chunks)));
  if (!reply.has_put_blob_reply()) return unexpected_answer();
  return status_of(reply.put_blob_reply().status());
}

Result<JobId> ControlClient::submit(const Submission& submission) {
  proto::Envelope request;
  proto::SubmitJob* job = request.mutable_submit_job();
  job->set_name(submission.name);
  job->set_module_hash(submission.module_hash);
  to_proto(submission.build, job->mutable_build());
  job->set_fingerprint(submission.fingerprint);
  to_proto(submission.graph, job->mutable_graph());
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  if (!reply.has_submit_job_reply()) return unexpected_answer();
  RETURN_IF_ERROR(status_of(reply.submit_job_reply().status()));
  return job_id_of(reply.submit_job_reply().job());
}

Result<std::vector<JobReport>> ControlClient::list() {
  proto::Envelope request;
  request.mutable_list_jobs();
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  if (!reply.has_list_jobs_reply()) return unexpected_answer();
  std::vector<JobReport> jobs;
  for (const proto::JobSummary& job : reply.list_jobs_reply().jobs())
    jobs.push_back(report_of(job));
  return jobs;
}

Result<JobReport> ControlClient::get(const JobId& id) {
  ASSIGN_OR_RETURN(JobDetails details, this->details(id));
  return std::move(details.job);
}

Result<JobDetails> ControlClient::details(const JobId& id) {
  proto::Envelope request;
  fill(id, request.mutable_get_job()->mutable_job());
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  if (!reply.has_get_job_reply()) return unexpected_answer();
  RETURN_IF_ERROR(status_of(reply.get_job_reply().status()));
  JobDetails details{report_of(reply.get_job_reply().job()), {}};
  for (const proto::TaskSummary& task : reply.get_job_reply().tasks_detail())
    details.tasks.push_back(report_of(task));
  return details;
}

Status ControlClient::cancel(const JobId& id) {
  proto::Envelope request;
  fill(id, request.mutable_cancel_job()->mutable_job());
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  if (!reply.has_cancel_job_reply()) return unexpected_answer();
  return status_of(reply.cancel_job_reply().status());
}

Result<std::string> ControlClient::fail_task(const JobId& id, const std::string& vertex,
                                             uint32_t subtask, ProvokedFailure failure) {
  proto::Envelope request;
  proto::FailTask* message = request.mutable_fail_task();
  fill(id, message->mutable_job());
  message->set_vertex(vertex);
  message->set_subtask(subtask);
  message->set_failure(static_cast<uint32_t>(failure));
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  if (!reply.has_fail_task_reply()) return unexpected_answer();
  RETURN_IF_ERROR(status_of(reply.fail_task_reply().status()));
  const proto::FailTaskReply& answer = reply.fail_task_reply();
  return fmt::format("{}, attempt {}", answer.task(), answer.attempt().attempt());
}

Status ControlClient::process_ended(const std::string& host_id, uint32_t pid,
                                    const std::string& how) {
  proto::Envelope request;
  proto::ProcessEnded* message = request.mutable_process_ended();
  message->set_host_id(host_id);
  message->set_pid(pid);
  message->set_how(how);
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  return reply.has_process_ended_reply() ? Status() : unexpected_answer();
}

Result<std::vector<TaskManagerReport>> ControlClient::task_managers() {
  proto::Envelope request;
  request.mutable_get_cluster();
  ASSIGN_OR_RETURN(const proto::Envelope reply, session_->call(std::move(request)));
  if (!reply.has_get_cluster_reply()) return unexpected_answer();
  std::vector<TaskManagerReport> reports;
  for (const proto::TaskManagerSummary& one : reply.get_cluster_reply().task_managers()) {
    reports.push_back({TaskManagerId{one.task_manager()}, one.name(), one.data_address(), one.pid(),
                       one.slots(), one.slots_free()});
  }
  return reports;
}

}  // namespace freshet
