#include "jobmanager/commit_ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace freshet {

namespace {
constexpr uint64_t kOverheadBytes = 24;  // Of one committable in a message.
}

void CommitLedger::add(TaskManagerId producer, std::vector<JobCommittable> committables) {
  Batch* batch = nullptr;
  uint64_t bytes = 0;
  for (JobCommittable& one : committables) {
    const uint64_t size = one.payload.size() + kOverheadBytes;
    if (batch == nullptr || bytes + size > kRequestBytesMax) {
      batch = &batches_[next_batch_++];
      batch->producer = producer;
      bytes = 0;
    }
    bytes += size;
    batch->committables.push_back(std::move(one));
  }
}

void CommitLedger::expire(TimePoint now) {
  for (auto& [number, batch] : batches_) {
    if (!batch.asked || now < batch.answer_due) continue;
    count_try(batch, deadline_exceeded(fmt::format("{} did not answer within {}",
                                                   to_string(batch.asked->to),
                                                   format_duration(kAnswerTimeout))));
    batch.overdue.push_back(*batch.asked);
    batch.asked.reset();
  }
}

JobCommands CommitLedger::dispatch(TimePoint now, std::span<const TaskManagerId> available) {
  JobCommands commands;
  if (available.empty()) return commands;
  for (auto& [number, batch] : batches_) {
    if (batch.asked || (batch.retry_at && now < *batch.retry_at)) continue;
    batch.asked = Request{choose(number, batch, available), next_commit_id_++};
    batch.answer_due = now + kAnswerTimeout;
    batch.retry_at.reset();
    commands.push_back(
        job_commands::Commit{batch.asked->to, batch.asked->commit_id, batch.committables});
  }
  return commands;
}

TaskManagerId CommitLedger::choose(uint32_t number, const Batch& batch,
                                   std::span<const TaskManagerId> available) {
  const auto silent = [&](TaskManagerId id) {
    return std::any_of(batch.overdue.begin(), batch.overdue.end(),
                       [&](const Request& request) { return request.to == id; });
  };
  const bool there =
      std::find(available.begin(), available.end(), batch.producer) != available.end();
  if (there && !silent(batch.producer)) return batch.producer;
  for (size_t i = 0; i < available.size(); i++) {
    const TaskManagerId one = available[(number + i) % available.size()];
    if (!silent(one)) return one;
  }
  return available[(number + batch.failed_tries) % available.size()];
}

void CommitLedger::on_task_manager_lost(TaskManagerId lost) {
  for (auto& [number, batch] : batches_) {
    if (batch.asked && batch.asked->to == lost) batch.asked.reset();
    std::erase_if(batch.overdue, [&](const Request& request) { return request.to == lost; });
  }
}

void CommitLedger::on_done(TimePoint now, TaskManagerId from, uint64_t commit_id,
                           const Status& status) {
  const Request answered{from, commit_id};
  for (auto it = batches_.begin(); it != batches_.end(); ++it) {
    Batch& batch = it->second;
    const bool in_time = batch.asked == answered;
    const bool late =
        std::find(batch.overdue.begin(), batch.overdue.end(), answered) != batch.overdue.end();
    if (!in_time && !late) continue;
    if (status.ok()) {
      batches_.erase(it);
      return;
    }
    if (late) return;
    batch.asked.reset();
    batch.retry_at = now + kRetryDelay * (1 << batch.failed_tries);
    return count_try(batch, status);
  }
}

void CommitLedger::count_try(Batch& batch, const Status& why) {
  if (++batch.failed_tries < kTriesMax) return;
  failure_ = why.with_context(fmt::format("results could not be published in {} tries", kTriesMax));
}

size_t CommitLedger::outstanding() const {
  return static_cast<size_t>(std::count_if(batches_.begin(), batches_.end(), [](const auto& entry) {
    return entry.second.asked.has_value();
  }));
}

std::optional<TimePoint> CommitLedger::deadline() const {
  std::optional<TimePoint> earliest;
  for (const auto& [number, batch] : batches_) {
    const std::optional<TimePoint> due =
        batch.asked ? std::optional(batch.answer_due) : batch.retry_at;
    if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  return earliest;
}

}  // namespace freshet
