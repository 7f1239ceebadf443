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
    LOG_WARN("clean_up_forgotten",
             {{"job", pending_.front().job}, {"cause", "there are too many"}});
    pending_.erase(pending_.begin());
  }
  pending_.push_back({job, std::move(information), std::nullopt, 0});
}

void CleanUpLedger::on_task_manager_lost(TaskManagerId id) {
  for (Pending& one : pending_) {
    if (one.given_to != id) continue;
    one.given_to.reset();
    if (++one.losses < kLossesMax) continue;
    LOG_WARN("clean_up_forgotten",
             {{"job", one.job},
              {"cause", "the TaskManagers that were told to were lost, one after the other"}});
  }
  std::erase_if(pending_, [](const Pending& one) { return one.losses >= kLossesMax; });
}

void CleanUpLedger::on_done(JobId job, TaskManagerId from) {
  std::erase_if(pending_,
                [&](const Pending& one) { return one.job == job && one.given_to == from; });
}

bool CleanUpLedger::may_be_given(const Pending& one, TaskManagerId to) const {
  return std::none_of(pending_.begin(), pending_.end(), [&](const Pending& other) {
    return other.given_to == to && (other.losses > 0 || one.losses > 0);
  });
}

std::vector<CleanUpLedger::Order> CleanUpLedger::assign(
    std::span<const TaskManagerInfo> registered) {
  std::vector<Order> orders;
  for (Pending& one : pending_) {
    if (one.given_to) continue;
    const auto to =
        std::find_if(registered.begin(), registered.end(),
                     [&](const TaskManagerInfo& info) { return may_be_given(one, info.id); });
    if (to == registered.end()) continue;
    one.given_to = to->id;
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
