#include "jobmanager/control_messages.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "jobmanager/encoded_fields.h"
#include "network/transport.h"
#include "runtime/base/configuration.h"
#include "runtime/base/key_groups.h"
#include "runtime/graph/text_rules.h"
#include "runtime/proto/control.pb.h"

namespace freshet::control_messages {

namespace {

constexpr uint64_t kTasksMax = 1 << 20;
constexpr size_t kTextLengthMax = 4096;
constexpr size_t kHostLengthMax = 255;  // As in DNS; each gate group has those of all producers.
constexpr size_t kCauseLengthMax = 64 << 10;

void write_progress(const ExecutionProgress& progress, proto::TaskProgress* to) {
  to->set_records_in(progress.records_in);
  to->set_records_out(progress.records_out);
  to->set_bytes_in(progress.bytes_in);
  to->set_bytes_out(progress.bytes_out);
  to->set_source_records(progress.source_records);
  to->set_busy_ms(progress.busy_ms);
  to->set_idle_ms(progress.idle_ms);
  to->set_back_pressured_ms(progress.back_pressured_ms);
  if (progress.gauges.latency_records == 0) return;
  proto::TaskGauges* const gauges = to->mutable_gauges();
  gauges->set_latency_records(progress.gauges.latency_records);
  gauges->set_latency_p50_ms(progress.gauges.latency_p50_ms);
  gauges->set_latency_p95_ms(progress.gauges.latency_p95_ms);
  gauges->set_latency_max_ms(progress.gauges.latency_max_ms);
}

}  // namespace

void write(const Status& status, proto::StatusProto* to) {
  to->set_code(static_cast<uint32_t>(status.code()));
  to->set_message(status.message());
}

void write(const JobId& id, proto::JobIdProto* to) {
  to->set_high(id.high);
  to->set_low(id.low);
}

void write(const AttemptId& attempt, proto::AttemptProto* to) {
  write(attempt.job, to->mutable_job());
  to->set_vertex(attempt.subtask.vertex.value);
  to->set_subtask(attempt.subtask.index);
  to->set_attempt(attempt.attempt);
}

Status read(const proto::StatusProto& from) {
  if (from.code() == 0) return Status();
  const bool known = from.code() <= static_cast<uint32_t>(StatusCode::kInternal);
  return Status(known ? static_cast<StatusCode>(from.code()) : StatusCode::kInternal,
                from.message().substr(0, kCauseLengthMax));
}

JobId read(const proto::JobIdProto& from) { return {from.high(), from.low()}; }

AttemptId read(const proto::AttemptProto& from) {
  return {read(from.job()), {VertexId{from.vertex()}, from.subtask()}, from.attempt()};
}

namespace {

/// Whoever shows it expects a number.
template <class Number>
Number finite(Number value) {
  return std::isfinite(value) ? value : 0;
}

}  // namespace

TaskGauges read(const proto::TaskGauges& from) {
  TaskGauges gauges;
  gauges.records_in_per_second = finite(from.records_in_per_second());
  gauges.records_out_per_second = finite(from.records_out_per_second());
  gauges.bytes_in_per_second = finite(from.bytes_in_per_second());
  gauges.bytes_out_per_second = finite(from.bytes_out_per_second());
  gauges.buffers_out_per_second = finite(from.buffers_out_per_second());
  gauges.source_records_per_second = finite(from.source_records_per_second());
  gauges.busy_per_second = finite(from.busy_per_second());
  gauges.idle_per_second = finite(from.idle_per_second());
  gauges.back_pressured_per_second = finite(from.back_pressured_per_second());
  gauges.in_pool_usage = finite(from.in_pool_usage());
  gauges.floating_usage = finite(from.floating_usage());
  gauges.out_pool_usage = finite(from.out_pool_usage());
  gauges.input_queue_length = from.input_queue_length();
  gauges.output_queue_length = from.output_queue_length();
  gauges.back_pressured = from.back_pressured();
  gauges.local_bytes_in_per_second = finite(from.local_bytes_in_per_second());
  gauges.remote_bytes_in_per_second = finite(from.remote_bytes_in_per_second());
  gauges.local_buffers_in_per_second = finite(from.local_buffers_in_per_second());
  gauges.remote_buffers_in_per_second = finite(from.remote_buffers_in_per_second());
  gauges.hard_back_pressured_per_second = finite(from.hard_back_pressured_per_second());
  gauges.exclusive_usage = finite(from.exclusive_usage());
  gauges.input_queue_bytes = from.input_queue_bytes();
  gauges.output_queue_bytes = from.output_queue_bytes();
  gauges.latency_records = from.latency_records();
  gauges.latency_p50_ms = finite(from.latency_p50_ms());
  gauges.latency_p95_ms = finite(from.latency_p95_ms());
  gauges.latency_max_ms = finite(from.latency_max_ms());
  return gauges;
}

ExecutionProgress read(const proto::TaskProgress& from) {
  ExecutionProgress progress;
  progress.records_in = from.records_in();
  progress.records_out = from.records_out();
  progress.bytes_in = from.bytes_in();
  progress.bytes_out = from.bytes_out();
  progress.buffers_out = from.buffers_out();
  progress.source_records = from.source_records();
  progress.busy_ms = from.busy_ms();
  progress.idle_ms = from.idle_ms();
  progress.back_pressured_ms = from.back_pressured_ms();
  progress.hard_back_pressured_ms = from.hard_back_pressured_ms();
  progress.local_bytes_in = from.local_bytes_in();
  progress.remote_bytes_in = from.remote_bytes_in();
  progress.local_buffers_in = from.local_buffers_in();
  progress.remote_buffers_in = from.remote_buffers_in();
  progress.initialization_ms = from.initialization_ms();
  progress.inputs_read = from.inputs_read();
  progress.gauges = read(from.gauges());
  return progress;
}

TaskManagerNumbers read(const proto::TaskManagerStatus& from) {
  TaskManagerNumbers numbers;
  numbers.process.cpu_load = finite(from.cpu_load());
  numbers.process.cpu_time_nanos = from.cpu_time_nanos();
  numbers.process.resident_bytes = from.resident_bytes();
  numbers.process.virtual_bytes = from.virtual_bytes();
  numbers.process.threads = from.threads();
  numbers.network_bytes = from.network_bytes();
  numbers.network_bytes_free = from.network_bytes_free();
  numbers.network_bytes_wanted = from.network_bytes_wanted();
  numbers.managed_bytes = from.managed_bytes();
  numbers.machine = {from.machine_cores(), from.machine_bytes(), from.machine_bytes_free()};
  return numbers;
}

Result<TaskManagerInfo> read(const proto::RegisterTaskManager& from) {
  if (from.task_manager() == 0) return data_loss("a TaskManager without an id");
  if (from.slots() == 0 || from.slots() > config::kTaskSlots.allowed.maximum) {
    return data_loss(fmt::format("a TaskManager with {} slots", from.slots()));
  }
  if (from.data_port() == 0 || from.data_port() > 65'535) {
    return data_loss(fmt::format("a TaskManager with data port {}", from.data_port()));
  }
  for (const std::string* text :
       {&from.name(), &from.host_id(), &from.data_host(), &from.log_path()}) {
    if (text->size() > kTextLengthMax) return data_loss("a text of a TaskManager is too long");
  }
  if (from.host_id().size() > kHostLengthMax || from.data_host().size() > kHostLengthMax)
    return data_loss("the host of a TaskManager is too long");
  if (!from.unix_address().empty()) {
    const Result<Address> address = Address::parse(from.unix_address());
    if (!address.ok() || !address->is_unix())
      return data_loss("a TaskManager with a Unix socket that is none");
  }
  TaskManagerInfo info;
  info.id = TaskManagerId{from.task_manager()};
  info.name = from.name();
  info.host_id = from.host_id();
  info.data_host = from.data_host();
  info.data_port = static_cast<uint16_t>(from.data_port());
  info.unix_address = from.unix_address();
  info.slots = from.slots();
  info.pid = from.pid();
  info.log_path = from.log_path();
  return info;
}

Result<TaskStateReport> read(const proto::TaskStateChanged& from) {
  if (from.state() > static_cast<uint32_t>(TaskState::kFailed)) {
    return data_loss(fmt::format("no task state has the number {}", from.state()));
  }
  TaskStateReport report;
  report.attempt = read(from.attempt());
  report.state = static_cast<TaskState>(from.state());
  report.cause = read(from.cause());
  if (report.state == TaskState::kFailed && report.cause.ok()) {
    report.cause = internal_error("the task failed without a cause");
  }
  report.operator_name = from.operator_name().substr(0, kTextLengthMax);
  for (const proto::Committable& committable : from.committables()) {
    report.committables.push_back({OperatorId{committable.operator_id()}, committable.payload()});
  }
  for (const proto::StoredOutput& output : from.stored())
    report.outputs.push_back({DatasetId{output.dataset()}, output.hash()});
  if (from.has_progress()) report.progress = read(from.progress());
  return report;
}

ChannelsLostReport read(const proto::ChannelsLost& from) {
  ChannelsLostReport report;
  report.consumer = read(from.consumer());
  report.dataset = DatasetId{from.dataset()};
  report.producers = {from.producer_begin(), from.producer_end()};
  report.producer_task_manager = TaskManagerId{from.producer_task_manager()};
  report.cause = read(from.cause());
  return report;
}

CrashReport read(const proto::TaskManagerCrashes& from) {
  const auto bounded = [](const std::string& text) { return text.substr(0, kTextLengthMax); };
  CrashReport report;
  report.reason = bounded(from.reason());
  report.thread = bounded(from.thread());
  report.code_name = bounded(from.code_name());
  report.culprit = bounded(from.culprit());
  report.provoked = from.provoked();
  if (from.has_position()) report.position = from.position();
  if (from.has_job()) report.job = read(from.job());
  if (from.has_attempt()) report.attempt = read(from.attempt());
  for (const std::string& frame : from.frames()) {
    if (report.frames.size() == CrashReport::kFramesMax) break;
    report.frames.push_back(frame.substr(0, CrashReport::kFrameBytesMax));
  }
  return report;
}

Result<JobSubmission> read(const proto::SubmitJob& from) {
  JobSubmission submission;
  if (!is_plain_text(from.name())) return invalid_argument("the name of the job is not plain text");
  submission.name = from.name();
  submission.module_hash = from.module_hash();
  submission.fingerprint = from.fingerprint();
  ASSIGN_OR_RETURN(submission.build, from_proto(from.build()));
  if (submission.build.parallelism < 1 || submission.build.parallelism > kMaxStatelessParallelism) {
    return invalid_argument(fmt::format("parallelism {}: it must be from 1 to {}",
                                        submission.build.parallelism, kMaxStatelessParallelism));
  }
  ASSIGN_OR_RETURN(submission.graph, from_proto(from.graph()));
  uint64_t tasks = 0;
  for (const JobVertex& vertex : submission.graph.vertices) tasks += vertex.parallelism;
  if (tasks == 0 || tasks > kTasksMax) {
    return invalid_argument(
        fmt::format("a job of {} tasks: it must have from 1 to {}", tasks, kTasksMax));
  }
  return submission;
}

std::string encode_job_information(const JobMaster& job) {
  const JobSubmission& submission = job.submission();
  proto::JobInformation message;
  write(job.id(), message.mutable_job());
  message.set_name(submission.name);
  message.set_module_hash(submission.module_hash);
  to_proto(submission.build, message.mutable_build());
  message.set_fingerprint(submission.fingerprint);
  to_proto(submission.graph, message.mutable_graph());
  return message.SerializeAsString();
}

std::string encode(const job_commands::CancelTasks& command) {
  proto::Envelope envelope;
  proto::CancelTasks* message = envelope.mutable_cancel_tasks();
  for (const AttemptId& attempt : command.attempts) write(attempt, message->add_attempts());
  return envelope.SerializeAsString();
}

std::string encode(const job_commands::ReleasePartitions& command, JobId job) {
  proto::Envelope envelope;
  proto::ReleasePartitions* message = envelope.mutable_release_partitions();
  write(job, message->mutable_job());
  for (const auto& range : command.partitions) {
    proto::PartitionsOfDataset* one = message->add_partitions();
    one->set_dataset(range.dataset.value);
    one->set_begin(range.producers.begin);
    one->set_end(range.producers.end);
    one->set_attempt(range.attempt);
  }
  return envelope.SerializeAsString();
}

std::string encode(const job_commands::FinishTasks& command) {
  proto::Envelope envelope;
  proto::FinishTasks* message = envelope.mutable_finish_tasks();
  for (const AttemptId& attempt : command.attempts) write(attempt, message->add_attempts());
  return envelope.SerializeAsString();
}

std::string encode(const job_commands::ProvokeFailure& command) {
  proto::Envelope envelope;
  proto::ProvokeFailure* message = envelope.mutable_provoke_failure();
  write(command.attempt, message->mutable_attempt());
  message->set_failure(static_cast<uint32_t>(command.failure));
  return envelope.SerializeAsString();
}

std::string encode(const job_commands::Commit& command, std::string_view job_information) {
  proto::Commit own;
  own.set_commit_id(command.commit_id);
  for (const JobCommittable& committable : command.committables) {
    proto::Committable* to = own.add_committables();
    to->set_operator_id(committable.operator_id.value);
    to->set_payload(committable.payload);
  }
  EncodedFields message;
  message.add(proto::Commit::kJobFieldNumber, job_information);
  message.add_all_of(own.SerializeAsString());
  return message.enclosed(proto::Envelope::kCommitFieldNumber);
}

std::string encode_release(const JobId& job) {
  proto::Envelope envelope;
  write(job, envelope.mutable_release_job()->mutable_job());
  return envelope.SerializeAsString();
}

std::string encode_clean_up(const JobId& job, std::string_view job_information) {
  proto::ReleaseJob own;
  write(job, own.mutable_job());
  EncodedFields message;
  message.add_all_of(own.SerializeAsString());
  message.add(proto::ReleaseJob::kCleanUpFieldNumber, job_information);
  return message.enclosed(proto::Envelope::kReleaseJobFieldNumber);
}

void summarize(const JobMaster& job, proto::JobSummary* to) {
  const ExecutionGraph& graph = job.graph();
  write(job.id(), to->mutable_job());
  to->set_name(job.submission().name);
  to->set_state(static_cast<uint32_t>(job.state()));
  to->set_tasks(graph.task_count());
  to->set_tasks_running(graph.count(TaskState::kRunning));
  to->set_tasks_finished(graph.count(TaskState::kFinished) + graph.count(TaskState::kEndOfData));
  to->set_restarts(job.restarts());
  to->set_source_records(job.source_records());
  write(job.cause(), to->mutable_cause());
  to->set_waiting_for(job.waiting_for());
}

void summarize(const JobMaster& job, uint32_t execution, proto::TaskSummary* to) {
  const Execution& shown = job.graph().at(execution);
  const SubtaskId subtask = job.graph().subtask_at(execution);
  write(AttemptId{job.id(), subtask, shown.attempt}, to->mutable_attempt());
  to->set_name(job.graph().job_graph().vertices[subtask.vertex.value].name());
  to->set_state(static_cast<uint32_t>(shown.state));
  to->set_task_manager(shown.task_manager.value);
  write_progress(shown.progress, to->mutable_progress());
}

}  // namespace freshet::control_messages
