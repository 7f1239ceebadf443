#include "jobmanager/client_requests.h"

#include <fmt/format.h>

#include <utility>

#include "jobmanager/control_messages.h"
#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/configuration.h"
#include "runtime/base/log.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {

constexpr uint64_t kUnsentBytesMax = 16u
                                     << 20;  // Of a peer that fetches: then its next chunk waits.
constexpr Duration kUnsentPause = 5ms;

void summarize(const JobRecord& record, const JobDispatcher& jobs, proto::JobSummary* to) {
  control_messages::summarize(*record.master, to);
  to->set_submitted_epoch_ms(record.submitted);
  to->set_ended_epoch_ms(record.ended);
  to->set_tidying(jobs.is_tidying(record));
}

}  // namespace

bool ClientRequests::is_for(PeerRole role, const proto::Envelope& envelope) {
  switch (envelope.message_case()) {
    case proto::Envelope::kGetBlob:
      return true;
    case proto::Envelope::kPutBlob:
      return role != PeerRole::kTaskManager;
    case proto::Envelope::kSubmitJob:
    case proto::Envelope::kListJobs:
    case proto::Envelope::kGetJob:
    case proto::Envelope::kCancelJob:
    case proto::Envelope::kFailTask:
    case proto::Envelope::kGetCluster:
      return role == PeerRole::kClient;
    default:
      return false;
  }
}

Status ClientRequests::handle(SessionNumber session, proto::Envelope envelope) {
  if (envelope.has_put_blob()) {
    put_blob(session, std::move(envelope));
    return Status();
  }
  if (envelope.has_get_blob()) {
    get_blob(session, envelope);
    return Status();
  }
  proto::Envelope reply = answer(envelope);
  reply.set_request_id(envelope.request_id());
  if (const size_t bytes = reply.ByteSizeLong(); bytes > kMessageBytesMax) {
    reply_error(session, envelope.request_id(),
                resource_exhausted(fmt::format("the answer has {} bytes; at most {} can be sent",
                                               bytes, kMessageBytesMax)));
    return Status();
  }
  server_.send(session, reply.SerializeAsString());
  return Status();
}

proto::Envelope ClientRequests::answer(const proto::Envelope& request) {
  proto::Envelope reply;
  switch (request.message_case()) {
    case proto::Envelope::kSubmitJob:
      submit(request, reply);
      break;
    case proto::Envelope::kListJobs:
      list_jobs(reply);
      break;
    case proto::Envelope::kGetJob:
      get_job(request, reply);
      break;
    case proto::Envelope::kCancelJob:
      cancel_job(request, reply);
      break;
    case proto::Envelope::kFailTask:
      fail_task(request.fail_task(), reply.mutable_fail_task_reply());
      break;
    default:
      get_cluster(reply);
      break;
  }
  return reply;
}

Status ClientRequests::check_submission() const {
  if (options_.submission) return Status();
  return failed_precondition(fmt::format(
      "this JobManager takes no jobs: {} is false in its settings", config::kSubmission.name));
}

void ClientRequests::submit(const proto::Envelope& request, proto::Envelope& reply) {
  proto::SubmitJobReply* answer = reply.mutable_submit_job_reply();
  const auto submit_checked = [&]() -> Result<JobId> {
    RETURN_IF_ERROR(check_submission());
    ASSIGN_OR_RETURN(JobSubmission submission, control_messages::read(request.submit_job()));
    if (!blobs_.contains(submission.module_hash)) {
      return not_found("the JobManager has no module with the hash '" +
                       submission.module_hash.substr(0, 64) + "'; upload it before the job");
    }
    return jobs_.submit(std::move(submission));
  };
  const Result<JobId> job = submit_checked();
  control_messages::write(job.status(), answer->mutable_status());
  if (job.ok()) {
    pass_mark(options_.faults, "submit.before_reply");
    control_messages::write(*job, answer->mutable_job());
  } else {
    LOG_WARN("job_refused", {{"cause", job.status()}});
  }
}

void ClientRequests::list_jobs(proto::Envelope& reply) const {
  proto::ListJobsReply* answer = reply.mutable_list_jobs_reply();
  for (const auto& record : jobs_.jobs()) {
    summarize(*record, jobs_, answer->add_jobs());
  }
}

void ClientRequests::get_job(const proto::Envelope& request, proto::Envelope& reply) const {
  proto::GetJobReply* answer = reply.mutable_get_job_reply();
  const JobId id = control_messages::read(request.get_job().job());
  const JobRecord* record = jobs_.find(id);
  if (record == nullptr) {
    control_messages::write(not_found("no job has the id " + id.to_string()),
                            answer->mutable_status());
    return;
  }
  control_messages::write(Status(), answer->mutable_status());
  summarize(*record, jobs_, answer->mutable_job());
  constexpr uint32_t kTasksShown = 10'000;  // Keeps the answer below the size of a message.
  const uint32_t tasks = std::min(record->master->graph().task_count(), kTasksShown);
  for (uint32_t i = 0; i < tasks; i++) {
    control_messages::summarize(*record->master, i, answer->add_tasks_detail());
  }
}

void ClientRequests::cancel_job(const proto::Envelope& request, proto::Envelope& reply) {
  const Status status = jobs_.cancel(control_messages::read(request.cancel_job().job()));
  control_messages::write(status, reply.mutable_cancel_job_reply()->mutable_status());
}

void ClientRequests::fail_task(const proto::FailTask& request, proto::FailTaskReply* answer) {
  const auto failure = static_cast<ProvokedFailure>(request.failure());
  const auto provoke = [&]() -> Result<JobDispatcher::ProvokedTask> {
    if (request.failure() > UINT8_MAX || !is_valid(failure))
      return invalid_argument(fmt::format("no way to fail has the number {}", request.failure()));
    return jobs_.provoke(control_messages::read(request.job()), request.vertex(), request.subtask(),
                         failure);
  };
  const Result<JobDispatcher::ProvokedTask> provoked = provoke();
  control_messages::write(provoked.status(), answer->mutable_status());
  if (!provoked.ok()) return;
  control_messages::write(provoked->attempt, answer->mutable_attempt());
  answer->set_task(provoked->text);
}

void ClientRequests::get_cluster(proto::Envelope& reply) const {
  proto::GetClusterReply* answer = reply.mutable_get_cluster_reply();
  answer->set_job_manager_epoch(options_.epoch);
  for (const TaskManagerInfo& info : jobs_.resources().task_managers()) {
    proto::TaskManagerSummary* to = answer->add_task_managers();
    to->set_task_manager(info.id.value);
    to->set_name(info.name);
    to->set_data_address(Address{info.data_host, info.data_port}.to_string());
    to->set_pid(info.pid);
    to->set_slots(info.slots);
    to->set_slots_free(jobs_.resources().free_slots_of(info.id));
    to->set_host_id(info.host_id);
  }
}

// ---- Blobs ----

void ClientRequests::put_blob(SessionNumber session, proto::Envelope envelope) {
  proto::PutBlob* message = envelope.mutable_put_blob();
  if (const Status status = check_submission(); !status.ok()) {
    return reply_error(session, envelope.request_id(), status);
  }
  BlobServer::PutChunk chunk{message->hash(), message->size(), std::move(*message->mutable_data()),
                             message->last()};
  blobs_.put(session, std::move(chunk),
             [weak = weak_from_this(), session, request = envelope.request_id()](Status status) {
               const auto self = weak.lock();
               if (!self) return;
               proto::Envelope reply;
               reply.set_request_id(request);
               control_messages::write(status, reply.mutable_put_blob_reply()->mutable_status());
               self->server_.send(session, reply.SerializeAsString());
             });
}

void ClientRequests::get_blob(SessionNumber session, const proto::Envelope& envelope) {
  Download download{session, envelope.request_id(), envelope.get_blob().hash(), 0};
  if (waiting_downloads_.size() >= kWaitingDownloadsMax) {
    return reply_error(session, download.request,
                       resource_exhausted("too many blobs are being fetched; try again later"));
  }
  if (downloads_ >= kDownloadsMax) return waiting_downloads_.push_back(std::move(download));
  downloads_++;
  send_next_chunk(std::move(download));
}

void ClientRequests::send_next_chunk(Download download) {
  if (!server_.has(download.session)) return end_download();
  if (server_.unsent_bytes(download.session) > kUnsentBytesMax) {
    mailbox_.schedule(kUnsentPause, "blob_pause",
                      [weak = weak_from_this(), download = std::move(download)]() mutable {
                        if (const auto self = weak.lock())
                          self->send_next_chunk(std::move(download));
                      });
    return;
  }
  const std::string hash = download.hash;
  const uint64_t offset = download.offset;
  blobs_.get(hash, offset,
             [weak = weak_from_this(), download = std::move(download)](auto chunk) mutable {
               if (const auto self = weak.lock()) {
                 self->send_chunk(std::move(download), std::move(chunk));
               }
             });
}

void ClientRequests::send_chunk(Download download, Result<BlobServer::Chunk> chunk) {
  proto::Envelope envelope;
  envelope.set_request_id(download.request);
  proto::BlobChunk* message = envelope.mutable_blob_chunk();
  control_messages::write(chunk.status(), message->mutable_status());
  const bool last = !chunk.ok() || chunk->last;
  message->set_last(last);
  if (chunk.ok()) {
    download.offset += chunk->data.size();
    message->set_size(chunk->size);
    message->set_data(std::move(chunk->data));
  }
  server_.send(download.session, envelope.SerializeAsString());
  if (last) {
    end_download();
  } else {
    send_next_chunk(std::move(download));
  }
}

void ClientRequests::end_download() {
  downloads_--;
  if (waiting_downloads_.empty()) return;
  Download next = std::move(waiting_downloads_.front());
  waiting_downloads_.pop_front();
  downloads_++;
  mailbox_.post("next_download", [weak = weak_from_this(), next = std::move(next)]() mutable {
    if (const auto self = weak.lock()) self->send_next_chunk(std::move(next));
  });
}

void ClientRequests::reply_error(SessionNumber session, uint64_t request, const Status& status) {
  proto::Envelope envelope;
  envelope.set_request_id(request);
  control_messages::write(status, envelope.mutable_error_reply()->mutable_status());
  server_.send(session, envelope.SerializeAsString());
}

}  // namespace freshet
