#include "jobmanager/encoded_groups.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {

using job_commands::GateGroup;

void encode_location(const TaskManagerInfo& info, proto::TaskManagerLocation* location) {
  location->set_task_manager(info.id.value);
  location->set_host(info.data_host);
  location->set_port(info.data_port);
  if (info.unix_address.empty()) return;
  location->set_host_id(info.host_id);
  location->set_unix_address(info.unix_address);
}

std::string encode(const GateGroup& group, const TaskManagerTable& task_managers) {
  proto::GateGroup message;
  message.set_dataset(group.dataset.value);
  message.set_stored(group.stored);
  for (const TaskManagerId id : group.task_managers) {
    const auto known = task_managers.find(id);
    CHECK(known != task_managers.end());  // A job loses its slots before anything else is decided.
    encode_location(known->second, message.add_task_managers());
  }
  if (!group.producers.empty()) message.set_first_producer(group.producers.front().producers.begin);
  const bool all_first = std::all_of(group.producers.begin(), group.producers.end(),
                                     [](const auto& range) { return range.attempt == 0; });
  for (const auto& range : group.producers) {
    message.add_run_lengths(range.producers.size());
    message.add_run_locations(range.location);
    if (!all_first) message.add_run_attempts(range.attempt);
  }
  return message.SerializeAsString();
}

}  // namespace

EncodedGroups::Encoded EncodedGroups::get(const std::shared_ptr<const GateGroup>& group,
                                          const TaskManagerTable& task_managers) {
  const MutexLock lock(mutex_);
  const auto known = entries_.find(group.get());
  if (known != entries_.end() && known->second.owner.lock() == group) return known->second.encoded;
  if (entries_.size() >= sweep_at_) sweep();
  encodings_++;
  Encoded encoded{std::make_shared<const std::string>(encode(*group, task_managers)), {}};
  if (!remember_) return encoded;
  if (group->kept) {
    encoded.hash = content_hash(*encoded.bytes);
    by_hash_.emplace(encoded.hash, group.get());
  }
  entries_[group.get()] = {group, encoded};
  return encoded;
}

std::shared_ptr<const std::string> EncodedGroups::find(const std::string& hash) const {
  const MutexLock lock(mutex_);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = entries_.at(it->second);
    if (entry.encoded.hash == hash && !entry.owner.expired()) return entry.encoded.bytes;
  }
  return nullptr;
}

uint64_t EncodedGroups::encodings() const {
  const MutexLock lock(mutex_);
  return encodings_;
}

/// At the address of one that is gone another one may be.
void EncodedGroups::sweep() {
  for (auto it = by_hash_.begin(); it != by_hash_.end();) {
    const Entry& entry = entries_.at(it->second);
    const bool gone = entry.owner.expired() || entry.encoded.hash != it->first;
    it = gone ? by_hash_.erase(it) : std::next(it);
  }
  std::erase_if(entries_, [](const auto& one) { return one.second.owner.expired(); });
  sweep_at_ = 2 * entries_.size() + kSweepMin;
}

}  // namespace freshet
