#include "jobmanager/clean_up_ledger.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

void CleanUpLedger::add(JobId job, std::shared_ptr<const std::string> information) {
  for (Pending& one : pending_) {
    if (one.job != job) continue;
    one.given_to.reset();
    return;
  }
  if (pending_.size() == kJobsMax) {
    LOG_WARN("clean_up_forgotten", {{"job", pending_.front().job}});
    pending_.erase(pending_.begin());
  }
  pending_.push_back({job, std::move(information), std::nullopt});
}

void CleanUpLedger::on_task_manager_lost(TaskManagerId id) {
  for (Pending& one : pending_) {
    if (one.given_to == id) one.given_to.reset();
  }
}

void CleanUpLedger::on_done(JobId job, TaskManagerId from) {
  std::erase_if(pending_,
                [&](const Pending& one) { return one.job == job && one.given_to == from; });
}

std::vector<CleanUpLedger::Order> CleanUpLedger::assign(
    std::span<const TaskManagerInfo> registered) {
  std::vector<Order> orders;
  if (registered.empty()) return orders;
  for (Pending& one : pending_) {
    if (one.given_to) continue;
    one.given_to = registered.front().id;
    orders.push_back({*one.given_to, one.job, one.information});
  }
  return orders;
}

bool CleanUpLedger::is_given_away(JobId job) const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [&](const Pending& one) { return one.job == job && one.given_to; });
}

bool CleanUpLedger::has_work(TaskManagerId id) const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [&](const Pending& one) { return one.given_to == id; });
}

}  // namespace freshet
