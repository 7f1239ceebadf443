#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobmanager/job_master.h"

namespace freshet {

/// Checks a JobMaster after every event: this state, and this state against the last one. For tests
/// and simulation; costs a walk over all subtasks, and over the pairs of blocking edges.
class JobMasterInvariants {
 public:
  /// The first rule that does not hold, for people; none when all do.
  std::optional<std::string> check(const JobMaster&);

  /// What commands must obey besides; `job` is the state after them. Call before check().
  std::optional<std::string> check_commands(const JobMaster& job, const JobCommands&) const;

 private:
  struct Seen {
    AttemptNumber attempt = 0;
    uint32_t version = 0;
    TaskState state = TaskState::kCreated;
  };

  std::optional<std::string> check_job(const JobMaster&) const;
  std::optional<std::string> check_tasks(const JobMaster&) const;
  std::optional<std::string> check_regions(const JobMaster&) const;
  std::optional<std::string> check_inputs(const JobMaster&) const;
  std::optional<std::string> check_slots(const JobMaster&) const;
  std::optional<std::string> check_groups(const JobMaster&) const;
  std::optional<std::string> check_lost(const JobMaster&) const;
  std::optional<std::string> check_delta(const JobMaster&) const;

  bool seen_any_ = false;
  JobState job_state_ = JobState::kCreated;
  uint32_t restarts_ = 0;
  std::vector<Seen> seen_;
};

}  // namespace freshet
