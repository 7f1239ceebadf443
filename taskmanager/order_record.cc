#include "taskmanager/order_record.h"

namespace freshet {

bool OrderRecord::note_deployment(const AttemptId& attempt) {
  if (is_released(attempt.job)) return false;
  const auto [latest, is_first] = latest_[attempt.job].emplace(attempt.subtask, attempt.attempt);
  if (is_first) return true;
  if (attempt.attempt <= latest->second) return false;
  latest->second = attempt.attempt;
  return true;
}

void OrderRecord::note_release(const JobId& job) {
  latest_.erase(job);
  if (!released_.insert(job).second) return;
  order_of_release_.push_back(job);
  if (order_of_release_.size() <= kReleasedMax) return;
  released_.erase(order_of_release_.front());
  order_of_release_.pop_front();
}

bool OrderRecord::is_released(const JobId& job) const { return released_.contains(job); }

void OrderRecord::clear() {
  latest_.clear();
  released_.clear();
  order_of_release_.clear();
}

}  // namespace freshet
