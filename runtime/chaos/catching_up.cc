#include "runtime/chaos/catching_up.h"

#include <algorithm>
#include <map>
#include <utility>

namespace freshet::chaos {

namespace {

constexpr int64_t kRateBeforeMillis = 1000;
constexpr int64_t kRateAfterMillis = 400;
constexpr double kAsFast = 0.9;

/// By vertex, of tasks that restarted.
struct VertexRecords {
  uint64_t records = 0;
  bool ended = true;
};

std::map<VertexId, VertexRecords> records_of(const Samples& samples, const Sample& sample,
                                             const RecoveryRound& round) {
  std::map<VertexId, VertexRecords> all;
  for (const auto& [subtask, task] : round.tasks) all[subtask.vertex];
  for (size_t i = 0; i < sample.tasks.size(); i++) {
    const auto vertex = all.find(samples.tasks[i].subtask.vertex);
    if (vertex == all.end()) continue;
    vertex->second.records += sample.tasks[i].records;
    vertex->second.ended = vertex->second.ended && sample.tasks[i].ended;
  }
  return all;
}

}  // namespace

CatchingUp::CatchingUp(const Samples& samples, const RecoveryRound& round, EpochMillis fault,
                       EpochMillis until)
    : samples_(samples), round_(round), fault_(fault), until_(until) {}

std::optional<EpochMillis> CatchingUp::first_record() const {
  for (const Sample& sample : samples_.samples) {
    if (sample.at <= fault_ || sample.at >= until_) continue;
    for (size_t i = 0; i < sample.tasks.size(); i++) {
      const auto task = round_.tasks.find(samples_.tasks[i].subtask);
      if (task == round_.tasks.end() || sample.tasks[i].attempt <= task->second.attempt) continue;
      if (sample.tasks[i].records > 0) return sample.at;
    }
  }
  return std::nullopt;
}

std::optional<EpochMillis> CatchingUp::caught_up() const {
  const Sample* const before = samples_.at(fault_);
  if (before == nullptr) return std::nullopt;
  const auto first = static_cast<size_t>(before - samples_.samples.data());
  const double rate = source_rate(first, kRateBeforeMillis);
  for (size_t i = first + 1; i < samples_.samples.size(); i++) {
    const Sample& sample = samples_.samples[i];
    if (sample.at >= until_) break;
    if (is_as_far(*before, sample) && is_as_fast(rate, i)) return sample.at;
  }
  return std::nullopt;
}

bool CatchingUp::is_as_far(const Sample& before, const Sample& now) const {
  for (size_t i = 0; i < now.tasks.size(); i++) {
    const auto task = round_.tasks.find(samples_.tasks[i].subtask);
    if (task != round_.tasks.end() && now.tasks[i].attempt <= task->second.attempt) return false;
  }
  const auto then = records_of(samples_, before, round_);
  for (const auto& [vertex, records] : records_of(samples_, now, round_)) {
    if (!records.ended && records.records < then.at(vertex).records) return false;
  }
  return !now.tasks.empty();
}

bool CatchingUp::is_as_fast(double before, size_t index) const {
  return source_ended(samples_.samples[index]) ||
         source_rate(index, kRateAfterMillis) >= kAsFast * before;
}

bool CatchingUp::source_ended(const Sample& sample) const {
  for (size_t i = 0; i < sample.tasks.size(); i++) {
    if (samples_.tasks[i].source && !sample.tasks[i].ended) return false;
  }
  return true;
}

double CatchingUp::source_rate(size_t index, int64_t millis) const {
  const Sample& last = samples_.samples[index];
  size_t first = index;
  while (first > 0 && samples_.samples[first].at > last.at - millis) first--;
  const Sample& then = samples_.samples[first];
  if (then.at == last.at) return 0;
  double records = 0;
  for (size_t i = first + 1; i <= index; i++)
    records += static_cast<double>(records_between(samples_, i, &Samples::Task::source));
  return records * 1000 / static_cast<double>(last.at - then.at);
}

uint64_t records_redone(const Samples& samples, const RecoveryRound& round) {
  const Sample* const before = samples.at(round.begun);
  if (before == nullptr) return 0;
  uint64_t records = 0;
  for (size_t i = 0; i < before->tasks.size(); i++) {
    const auto task = round.tasks.find(samples.tasks[i].subtask);
    if (task != round.tasks.end() && before->tasks[i].attempt == task->second.attempt)
      records += before->tasks[i].records;
  }
  return records;
}

}  // namespace freshet::chaos
