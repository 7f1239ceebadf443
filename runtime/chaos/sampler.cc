#include "runtime/chaos/sampler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace freshet::chaos {

namespace {

constexpr Duration kPatience = 1s;  // With one answer.

bool is_source(const JobVertex& vertex) {
  return !vertex.hidden && std::any_of(vertex.operators.begin(), vertex.operators.end(),
                                       [](const ChainedOperator& one) { return one.source; });
}

bool is_sink(const JobVertex& vertex) {
  return std::any_of(vertex.operators.begin(), vertex.operators.end(),
                     [](const ChainedOperator& one) { return one.sink; });
}

bool has_ended(TaskState state) {
  return state == TaskState::kEndOfData || state == TaskState::kFinished;
}

/// The worst of all sinks, and the mean of medians.
void add_latency(const TaskReport& task, std::optional<SeriesPoint::Latency>* to,
                 double* records_before) {
  if (!*to) *to = SeriesPoint::Latency{};
  const auto records = static_cast<double>(task.latency_records);
  SeriesPoint::Latency& all = **to;
  all.p50_ms =
      (all.p50_ms * *records_before + task.latency_p50_ms * records) / (*records_before + records);
  all.p95_ms = std::max(all.p95_ms, task.latency_p95_ms);
  all.max_ms = std::max(all.max_ms, task.latency_max_ms);
  *records_before += records;
}

}  // namespace

Samples samples_for(const JobGraph& graph) {
  Samples samples;
  for (uint32_t v = 0; v < graph.vertices.size(); v++) {
    const JobVertex& vertex = graph.vertices[v];
    for (uint32_t i = 0; i < vertex.parallelism; i++)
      samples.tasks.push_back({{VertexId{v}, i}, is_source(vertex), is_sink(vertex)});
  }
  return samples;
}

Sample sample_of(const Samples& samples, const JobDetails& details, const Sample* before,
                 EpochMillis now) {
  std::map<SubtaskId, const TaskReport*> reports;
  for (const TaskReport& task : details.tasks) reports[task.attempt.subtask] = &task;
  Sample sample;
  double latencies = 0;  // Of so many records that the median is known of.
  sample.at = now;
  sample.tasks_running = details.job.tasks_running;
  for (size_t i = 0; i < samples.tasks.size(); i++) {
    TaskSample task = before != nullptr ? before->tasks[i] : TaskSample();
    const auto report = reports.find(samples.tasks[i].subtask);
    if (report != reports.end()) {
      const TaskReport& told = *report->second;
      task = {told.attempt.attempt, samples.tasks[i].source ? told.source_records : told.records_in,
              has_ended(told.state)};
      // One that was not heard of since has nothing new to tell.
      const bool more = before == nullptr || task != before->tasks[i];
      if (more && !task.ended && told.latency_records > 0)
        add_latency(told, &sample.latency, &latencies);
    }
    sample.tasks.push_back(task);
  }
  return sample;
}

Sampler::Sampler(Options options, const JobId& job, const JobGraph& graph, Transport& transport,
                 const Clock& clock)
    : options_(std::move(options)),
      job_(job),
      transport_(transport),
      clock_(clock),
      job_manager_(options_.job_manager),
      samples_(samples_for(graph)),
      thread_("sampler", clock) {
  thread_.post("sample", [this] { ask(); });
}

void Sampler::set_job_manager(const Address& address) {
  MutexLock lock(mutex_);
  job_manager_ = address;
  moved_ = true;
}

void Sampler::ask() {
  const Result<JobDetails> told = details();
  thread_.schedule(options_.interval, "sample", [this] { ask(); });
  if (!told.ok()) return;
  MutexLock lock(mutex_);
  const Sample* const before = samples_.samples.empty() ? nullptr : &samples_.samples.back();
  EpochMillis now = clock_.epoch_millis();
  if (before != nullptr) now = std::max(now, before->at);
  samples_.samples.push_back(sample_of(samples_, *told, before, now));
}

Result<JobDetails> Sampler::details() {
  ControlClient::Options to{{}, options_.secret, kPatience, kPatience};
  {
    MutexLock lock(mutex_);
    to.job_manager = job_manager_;
    if (std::exchange(moved_, false)) client_.reset();
  }
  if (!client_) {
    ASSIGN_OR_RETURN(client_, ControlClient::connect(to, transport_, clock_));
  }
  Result<JobDetails> details = client_->details(job_);
  if (!details.ok()) client_.reset();
  return details;
}

Samples Sampler::samples() const {
  MutexLock lock(mutex_);
  return samples_;
}

uint64_t Sampler::source_records() const {
  MutexLock lock(mutex_);
  if (samples_.samples.empty()) return 0;
  const Sample& last = samples_.samples.back();
  uint64_t records = 0;
  for (size_t i = 0; i < last.tasks.size(); i++) {
    if (samples_.tasks[i].source) records += last.tasks[i].records;
  }
  return records;
}

}  // namespace freshet::chaos
