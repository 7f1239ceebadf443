#include "tests/sim/sim_client.h"

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/version.h"
#include "runtime/graph/provoked_failure.h"
#include "runtime/proto/control.pb.h"

namespace freshet::sim {

namespace {

constexpr Duration kConnectTimeout = 2s;
constexpr Duration kRetry = 200ms;

}  // namespace

SimClient::SimClient(SimProcess& process, Address job_manager, SimSubmission submission)
    : process_(process),
      mailbox_(process.add_executor()),
      job_manager_(std::move(job_manager)),
      submission_(std::move(submission)) {}

void SimClient::start() {
  mailbox_.post("client_connect", [this] { connect(); });
}

void SimClient::cancel() {
  mailbox_.post("client_cancel", [this] {
    if (channel_ == nullptr || !job_.has_value()) return;
    proto::Envelope envelope;
    envelope.set_request_id(4);
    proto::JobIdProto* const id = envelope.mutable_cancel_job()->mutable_job();
    id->set_high(job_->high);
    id->set_low(job_->low);
    channel_->send(envelope.SerializeAsString());
  });
}

void SimClient::fail_task(const SubtaskId& task) {
  mailbox_.post("client_fail_task", [this, task] {
    if (channel_ == nullptr || !job_.has_value()) return;
    proto::Envelope envelope;
    envelope.set_request_id(5);
    proto::FailTask* const request = envelope.mutable_fail_task();
    request->mutable_job()->set_high(job_->high);
    request->mutable_job()->set_low(job_->low);
    request->set_vertex(std::to_string(task.vertex.value));
    request->set_subtask(task.index);
    request->set_failure(static_cast<uint32_t>(ProvokedFailure::kException));
    channel_->send(envelope.SerializeAsString());
  });
}

void SimClient::connect() {
  if (channel_ != nullptr) channel_->detach();
  channel_ = nullptr;
  process_.transport().connect(job_manager_, kConnectTimeout, [this](auto connection) {
    mailbox_.post("client_connected", [this, connection = std::move(connection)]() mutable {
      if (!connection.ok()) {
        mailbox_.schedule(kRetry, "client_connect", [this] { connect(); });
        return;
      }
      channel_ = MessageChannel::open(*std::move(connection), mailbox_, *this);
      greet();
    });
  });
}

void SimClient::greet() {
  greeting_.emplace(
      Greeting::Options{HelloRole::kClient, job_manager_, FRESHET_VERSION, kClusterSecret},
      process_.random());
  channel_->send(greeting_->hello());
}

void SimClient::on_greeting(const proto::Envelope& envelope) {
  const Result<std::string> answer = greeting_->on_message(envelope);
  CHECK(answer.ok());
  if (!answer->empty()) channel_->send(*answer);
  if (greeting_->done()) ask_for_jobs();
}

void SimClient::ask_for_jobs() {
  proto::Envelope list;
  list.set_request_id(3);
  list.mutable_list_jobs();
  channel_->send(list.SerializeAsString());
}

void SimClient::take_jobs(const proto::ListJobsReply& reply) {
  // An answer to the submission may have been lost: then the job goes by its name.
  for (const proto::JobSummary& summary : reply.jobs()) {
    const JobId id{summary.job().high(), summary.job().low()};
    if (job_.has_value() ? id == *job_ : summary.name() == submission_.name) {
      job_ = id;
      return;
    }
  }
  job_.reset();
  send_module();
}

void SimClient::send_module() {
  const std::string hash = content_hash(submission_.module_bytes);
  proto::Envelope blob;
  blob.set_request_id(1);
  blob.mutable_put_blob()->set_hash(hash);
  blob.mutable_put_blob()->set_size(submission_.module_bytes.size());
  blob.mutable_put_blob()->set_data(submission_.module_bytes);
  blob.mutable_put_blob()->set_last(true);
  channel_->send(blob.SerializeAsString());
}

void SimClient::send_job() {
  proto::Envelope submit;
  submit.set_request_id(2);
  proto::SubmitJob* job = submit.mutable_submit_job();
  job->set_name(submission_.name);
  job->set_module_hash(content_hash(submission_.module_bytes));
  to_proto(submission_.build, job->mutable_build());
  job->set_fingerprint(submission_.fingerprint);
  to_proto(submission_.graph, job->mutable_graph());
  channel_->send(submit.SerializeAsString());
}

void SimClient::on_message(const std::shared_ptr<MessageChannel>&, std::string payload) {
  proto::Envelope envelope;
  CHECK(envelope.ParseFromString(payload));
  if (!greeting_->done()) return on_greeting(envelope);
  if (envelope.has_error_reply()) {
    refused_ = Status(StatusCode::kInternal, envelope.error_reply().status().message());
    return;
  }
  if (envelope.has_list_jobs_reply()) return take_jobs(envelope.list_jobs_reply());
  if (envelope.has_put_blob_reply()) {
    const proto::StatusProto& status = envelope.put_blob_reply().status();
    if (status.code() == 0) return send_job();
    refused_ = Status(static_cast<StatusCode>(status.code()), status.message());
    return;
  }
  if (!envelope.has_submit_job_reply()) return;
  const proto::SubmitJobReply& reply = envelope.submit_job_reply();
  if (reply.status().code() != 0) {
    refused_ = Status(static_cast<StatusCode>(reply.status().code()), reply.status().message());
    return;
  }
  job_ = JobId{reply.job().high(), reply.job().low()};
  ++submissions_;
}

void SimClient::on_closed(const std::shared_ptr<MessageChannel>&, const Status&) {
  channel_ = nullptr;
  if (refused_.ok()) mailbox_.schedule(kRetry, "client_connect", [this] { connect(); });
}

}  // namespace freshet::sim
