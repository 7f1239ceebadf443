#include "taskmanager/task_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/graph/json_plan.h"
#include "runtime/metrics/metric_catalog.h"
#include "runtime/task/stream_task.h"

namespace freshet {

namespace {

constexpr Duration kTimesApart = 1s;

uint64_t millis(Duration time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::max(time, Duration{})).count());
}

}  // namespace

TaskNumbers numbers_of(const TaskProgress& progress) {
  TaskNumbers numbers;
  numbers.records_in = progress.records_in;
  numbers.records_out = progress.records_out;
  numbers.bytes_in = progress.bytes_in;
  numbers.bytes_out = progress.bytes_out;
  numbers.buffers_out = progress.buffers_out;
  numbers.source_records = progress.source_records;
  numbers.busy_ms = millis(progress.busy);
  numbers.idle_ms = millis(progress.idle);
  numbers.back_pressured_ms = millis(progress.back_pressured);
  numbers.hard_back_pressured_ms = millis(progress.hard_back_pressured);
  numbers.local_bytes_in = progress.local_bytes_in;
  numbers.remote_bytes_in = progress.remote_bytes_in;
  numbers.local_buffers_in = progress.local_buffers_in;
  numbers.remote_buffers_in = progress.remote_buffers_in;
  numbers.initialization_ms = millis(progress.initialization);
  numbers.inputs_read = progress.inputs_read;
  return numbers;
}

TaskMetrics::TaskMetrics(MetricLabels labels, const AttemptId& attempt, const std::string& job_name,
                         const JobVertex& vertex, const StreamTask& task, TimePoint now)
    : labels_(std::move(labels)), task_(&task), rates_(now), earlier_{now}, last_{now} {
  for (auto& label : MetricLabels{{"job_id", attempt.job.to_string()},
                                  {"job_name", job_name},
                                  {"task_id", vertex_hex_id(vertex)},
                                  {"task_name", vertex_description(vertex)},
                                  {"task_attempt_num", fmt::format("{}", attempt.attempt)},
                                  {"subtask_index", fmt::format("{}", attempt.subtask.index)}})
    labels_.push_back(std::move(label));
  for (size_t i = 0; i < vertex.operators.size(); i++) {
    if (i == 0 || vertex.operators[i].source) operators_.push_back(vertex.operators[i]);
  }
  if (task.latency() == nullptr) return;
  reported_ = std::make_unique<LatencyMeter::Counts>();
  scraped_ = std::make_unique<LatencyMeter::Counts>();
}

TaskNumbers TaskMetrics::numbers(TimePoint now) {
  MutexLock lock(mutex_);
  return numbers_now(now, reported_.get());
}

TaskNumbers TaskMetrics::numbers_now(TimePoint now, LatencyMeter::Counts* latency) {
  if (task_ == nullptr) return {};
  TaskNumbers numbers = numbers_of(task_->progress());
  TaskGauges& gauges = numbers.gauges;
  add_rates(now, &numbers);
  add_times(now, &numbers);
  const TaskLoad load = task_->load();
  gauges.in_pool_usage = static_cast<float>(load.in_pool_usage);
  gauges.floating_usage = static_cast<float>(load.floating_usage);
  gauges.exclusive_usage = static_cast<float>(load.exclusive_usage);
  gauges.out_pool_usage = static_cast<float>(load.out_pool_usage);
  gauges.input_queue_length = static_cast<uint32_t>(load.input_queue_length);
  gauges.output_queue_length = static_cast<uint32_t>(load.output_queue_length);
  gauges.input_queue_bytes = load.input_queue_bytes;
  gauges.output_queue_bytes = load.output_queue_bytes;
  gauges.back_pressured = load.back_pressured;
  if (latency != nullptr) add_latency(latency, &gauges);
  return numbers;
}

void TaskMetrics::add_latency(LatencyMeter::Counts* before, TaskGauges* gauges) {
  const LatencyMeter::Summary latency = task_->latency()->since(before);
  gauges->latency_records = static_cast<uint32_t>(std::min<uint64_t>(latency.records, UINT32_MAX));
  gauges->latency_p50_ms = static_cast<float>(latency.p50_ms);
  gauges->latency_p95_ms = static_cast<float>(latency.p95_ms);
  gauges->latency_max_ms = static_cast<float>(latency.max_ms);
}

void TaskMetrics::add_rates(TimePoint now, TaskNumbers* numbers) {
  TaskGauges& gauges = numbers->gauges;
  const auto rates = rates_.read(
      now, {numbers->records_in, numbers->records_out, numbers->bytes_in, numbers->bytes_out,
            numbers->buffers_out, numbers->source_records, numbers->local_bytes_in,
            numbers->remote_bytes_in, numbers->local_buffers_in, numbers->remote_buffers_in});
  float* const fields[] = {
      &gauges.records_in_per_second,       &gauges.records_out_per_second,
      &gauges.bytes_in_per_second,         &gauges.bytes_out_per_second,
      &gauges.buffers_out_per_second,      &gauges.source_records_per_second,
      &gauges.local_bytes_in_per_second,   &gauges.remote_bytes_in_per_second,
      &gauges.local_buffers_in_per_second, &gauges.remote_buffers_in_per_second};
  for (size_t i = 0; i < rates.size(); i++) *fields[i] = static_cast<float>(rates[i]);
}

void TaskMetrics::add_times(TimePoint now, TaskNumbers* numbers) {
  const Times times{now, numbers->busy_ms, numbers->idle_ms, numbers->back_pressured_ms,
                    numbers->hard_back_pressured_ms};
  const Times earlier = earlier_;
  const double seconds = std::chrono::duration<double>(now - earlier.at).count();
  const auto share = [&](uint64_t Times::*field) -> float {
    const uint64_t more = times.*field - std::min(earlier.*field, times.*field);
    // Whole milliseconds on both sides may be a little more than the time.
    return seconds <= 0 ? 0 : std::min(1000.f, static_cast<float>(more / seconds));
  };
  numbers->gauges.busy_per_second = share(&Times::busy_ms);
  numbers->gauges.idle_per_second = share(&Times::idle_ms);
  numbers->gauges.back_pressured_per_second = share(&Times::back_pressured_ms);
  numbers->gauges.hard_back_pressured_per_second = share(&Times::hard_back_pressured_ms);
  if (now - last_.at >= kTimesApart) earlier_ = std::exchange(last_, times);
}

void TaskMetrics::read(TimePoint now, std::vector<MetricGroupReading>* groups) {
  TaskNumbers numbers;
  {
    MutexLock lock(mutex_);
    if (task_ == nullptr) return;
    numbers = numbers_now(now, scraped_.get());
  }
  MetricGroupReading group{MetricScope::kTask, labels_, {}};
  read_metrics(task_metrics(), numbers, &group.metrics);
  groups->push_back(std::move(group));
  read_operators(numbers, groups);
}

void TaskMetrics::read_operators(const TaskNumbers& numbers,
                                 std::vector<MetricGroupReading>* groups) const {
  for (size_t i = 0; i < operators_.size(); i++) {
    const ChainedOperator& one = operators_[i];
    MetricGroupReading group{MetricScope::kOperator, labels_, {}};
    group.labels.push_back({"operator_id", fmt::format("{:032x}", one.id.value)});
    group.labels.push_back({"operator_name", operator_description(one)});
    if (i == 0) read_metrics(head_metrics(), numbers, &group.metrics);
    if (one.source) read_metrics(source_metrics(), numbers, &group.metrics);
    groups->push_back(std::move(group));
  }
}

void TaskMetrics::release() {
  MutexLock lock(mutex_);
  task_ = nullptr;
}

}  // namespace freshet
