#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobmanager/job_commands.h"
#include "jobmanager/resource_manager.h"
#include "runtime/base/mutex.h"

namespace freshet {

/// Registered TaskManagers as they are while nobody comes or goes.
using TaskManagerTable = std::map<TaskManagerId, TaskManagerInfo>;

/// Groups of producers as messages have them: each is encoded once, however many TaskManagers and
/// deployments name it, for as long as anybody has it. Those that are kept can be fetched by their
/// hash so long. Thread-safe.
class EncodedGroups {
 public:
  struct Encoded {
    std::shared_ptr<const std::string> bytes;
    std::string hash;  // Of the bytes, 32 hex digits; empty for groups that are not kept.
  };

  /// `remember`: false encodes a group each time, and nothing can be fetched.
  explicit EncodedGroups(bool remember = true) : remember_(remember) {}

  /// All TaskManagers that the group names are in the table.
  Encoded get(const std::shared_ptr<const job_commands::GateGroup>&, const TaskManagerTable&);
  /// The bytes of a kept group that somebody still has; null otherwise.
  std::shared_ptr<const std::string> find(const std::string& hash) const;

  /// How often one was encoded.
  uint64_t encodings() const;

 private:
  struct Entry {
    std::weak_ptr<const job_commands::GateGroup> owner;
    Encoded encoded;
  };

  static constexpr size_t kSweepMin = 64;

  void sweep() REQUIRES(mutex_);

  const bool remember_;
  mutable Mutex mutex_;
  std::map<const job_commands::GateGroup*, Entry> entries_ GUARDED_BY(mutex_);  // Only looked up.
  std::multimap<std::string, const job_commands::GateGroup*> by_hash_ GUARDED_BY(mutex_);
  size_t sweep_at_ GUARDED_BY(mutex_) = kSweepMin;
  uint64_t encodings_ GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet
