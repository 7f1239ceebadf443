#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "jobmanager/resource_manager.h"
#include "runtime/base/ids.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/provoked_failure.h"

namespace freshet {

/// What a sink left to be published: opaque bytes for its committer.
struct JobCommittable {
  OperatorId operator_id;
  std::string payload;
  bool operator==(const JobCommittable&) const = default;
};

/// What a JobMaster wants done, in this order. Plain values; the shell makes messages of them.
namespace job_commands {

/// Absolute total from now on; 0: the job has ended, and its slots are free when their TaskManagers
/// have released it.
struct RequireSlots {
  uint32_t total = 0;          // All that it can use.
  uint32_t needed = 0;         // With fewer it does not get on.
  bool idle = true;            // Nothing of it runs now.
  std::vector<Slot> returned;  // It holds them no longer; nothing of it is there.
};

/// Where the producers of one ConsumedPartitionGroup run. Shared by all of its consumers.
struct GateGroup {
  struct ProducerRange {
    IndexRange producers;
    uint32_t location = 0;  // Index in task_managers.
    AttemptNumber attempt = 0;
  };
  DatasetId dataset;
  bool stored = false;  // All have ended, and what they made is kept.
  bool kept = false;    // Many deployments name it: a TaskManager gets it once, then its name.
  std::vector<TaskManagerId> task_managers;
  std::vector<ProducerRange> producers;  // Contiguous, ascending.
};

struct TaskDeployment {
  AttemptId attempt;
  AllocationId allocation;
  uint32_t slot = 0;
  std::vector<uint32_t> groups;  // Index in DeployTasks::groups, one per input edge.
};

struct SentGroup {
  std::shared_ptr<const GateGroup> group;
  bool known = false;  // The TaskManager has got it already.
};

/// All that one TaskManager gets in one deployment.
struct DeployTasks {
  TaskManagerId to;
  std::vector<SentGroup> groups;
  std::vector<TaskDeployment> tasks;
  bool check = false;  // Operators are checked before their tasks start.
};

struct CancelTasks {
  TaskManagerId to;
  std::vector<AttemptId> attempts;
};

/// For attempts at the end of their data, when the job's results are published.
struct FinishTasks {
  TaskManagerId to;
  std::vector<AttemptId> attempts;
};

/// What attempts made of blocking edges is not wanted any more.
struct ReleasePartitions {
  struct Range {
    DatasetId dataset;
    IndexRange producers;
    AttemptNumber attempt = 0;
  };
  TaskManagerId to;
  std::vector<Range> partitions;
};

/// Asked for by a user who tries failures out.
struct ProvokeFailure {
  TaskManagerId to;
  AttemptId attempt;
  ProvokedFailure failure;
};

struct Commit {
  TaskManagerId to;
  uint64_t commit_id = 0;  // New for every sending.
  std::vector<JobCommittable> committables;
};

/// To all registered TaskManagers: the job has ended.
struct ReleaseJob {};

}  // namespace job_commands

using JobCommand =
    std::variant<job_commands::RequireSlots, job_commands::DeployTasks, job_commands::CancelTasks,
                 job_commands::FinishTasks, job_commands::ReleasePartitions,
                 job_commands::ProvokeFailure, job_commands::Commit, job_commands::ReleaseJob>;
using JobCommands = std::vector<JobCommand>;

}  // namespace freshet
