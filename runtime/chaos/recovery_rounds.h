#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/time.h"
#include "runtime/chaos/job_log.h"

namespace freshet::chaos {

/// One restart of a job: from the decision to where all that restarts runs again. Failures that
/// come before it is RUNNING again belong to the same round.
struct RecoveryRound {
  struct Task {
    uint32_t attempt = 0;                 // That went.
    std::optional<EpochMillis> gone;      // It runs no more.
    std::optional<EpochMillis> deployed;  // The next one.
    std::optional<EpochMillis> running;
    bool later = false;  // It had to wait until another one of this round had ended.
    bool again = false;  // Restarted by a later round before it ran.
  };
  EpochMillis begun = 0;
  size_t first_event = 0;  // Indexes of events: the first and the last that made tasks restart.
  size_t last_event = 0;
  std::string cause;
  std::map<SubtaskId, Task> tasks;

  /// When all tasks that could start at once got there; none when one did not.
  std::optional<EpochMillis> all_gone() const;
  std::optional<EpochMillis> all_deployed() const;
  std::optional<EpochMillis> all_running() const;
  /// A later round took over what had not started.
  bool overtaken() const;
};

/// In the order in which they began.
std::vector<RecoveryRound> recovery_rounds(const std::vector<JobEvent>&);

}  // namespace freshet::chaos
