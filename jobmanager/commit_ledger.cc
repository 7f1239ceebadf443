#include "jobmanager/commit_ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace freshet {

void CommitLedger::add(TaskManagerId producer, std::vector<JobCommittable> committables) {
  Batch batch;
  batch.producer = producer;
  batch.committables = std::move(committables);
  batches_.emplace(next_batch_++, std::move(batch));
}

JobCommands CommitLedger::dispatch(TimePoint now, std::span<const TaskManagerId> available) {
  JobCommands commands;
  if (available.empty()) return commands;
  for (auto& [number, batch] : batches_) {
    if (batch.asked || (batch.retry_at && now < *batch.retry_at)) continue;
    const bool there =
        std::find(available.begin(), available.end(), batch.producer) != available.end();
    batch.asked = there ? batch.producer : available[number % available.size()];
    batch.retry_at.reset();
    batch.commit_id = next_commit_id_++;
    commands.push_back(job_commands::Commit{*batch.asked, batch.commit_id, batch.committables});
  }
  return commands;
}

void CommitLedger::on_task_manager_lost(TaskManagerId lost) {
  for (auto& [number, batch] : batches_) {
    if (batch.asked == lost) batch.asked.reset();
  }
}

void CommitLedger::on_done(TimePoint now, TaskManagerId from, uint64_t commit_id,
                           const Status& status) {
  for (auto it = batches_.begin(); it != batches_.end(); ++it) {
    Batch& batch = it->second;
    if (batch.asked != from || batch.commit_id != commit_id) continue;
    if (status.ok()) {
      batches_.erase(it);
      return;
    }
    batch.asked.reset();
    batch.retry_at = now + kRetryDelay * (1 << batch.errors);
    if (++batch.errors >= kTriesMax) {
      failure_ =
          status.with_context(fmt::format("results could not be published in {} tries", kTriesMax));
    }
    return;
  }
}

size_t CommitLedger::outstanding() const {
  return static_cast<size_t>(std::count_if(batches_.begin(), batches_.end(), [](const auto& entry) {
    return entry.second.asked.has_value();
  }));
}

std::optional<TimePoint> CommitLedger::deadline() const {
  std::optional<TimePoint> earliest;
  for (const auto& [number, batch] : batches_) {
    if (batch.retry_at && (!earliest || *batch.retry_at < *earliest)) earliest = batch.retry_at;
  }
  return earliest;
}

}  // namespace freshet
