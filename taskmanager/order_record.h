#pragma once

#include <deque>
#include <map>
#include <set>

#include "runtime/base/ids.h"

namespace freshet {

/// What one session with a JobManager was told to run and to release, so that an order which comes
/// again, or late, is known and changes nothing.
class OrderRecord {
 public:
  static constexpr size_t kReleasedMax = 1024;  // The oldest are forgotten.

  /// False: it was told already, or a later attempt of the subtask was, or its job is released.
  bool note_deployment(const AttemptId&);

  void note_release(const JobId&);
  bool is_released(const JobId&) const;

  /// The next session is told anew.
  void clear();

 private:
  std::map<JobId, std::map<SubtaskId, AttemptNumber>> latest_;  // Of jobs that are not released.
  std::set<JobId> released_;
  std::deque<JobId> order_of_release_;
};

}  // namespace freshet
