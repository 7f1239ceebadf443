#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "jobmanager/encoded_groups.h"
#include "jobmanager/job_commands.h"

namespace freshet {

/// Makes messages of the deployments of a job. What several TaskManagers get alike is encoded once,
/// and copied to each message as bytes: the information of the job by whoever made the encoder,
/// each group of producers by EncodedGroups.
///
/// May be made on one thread and used on another.
class DeploymentEncoder {
 public:
  /// `job_information` is what control_messages::encode_job_information() gave; `task_managers` has
  /// all that the deployments name. A kept group with at least `offload_min_bytes` is left out: its
  /// receiver fetches it.
  DeploymentEncoder(std::shared_ptr<const std::string> job_information,
                    std::shared_ptr<const TaskManagerTable> task_managers,
                    std::shared_ptr<EncodedGroups> groups, uint64_t offload_min_bytes);

  /// A whole envelope. `knows_job`: the TaskManager has got the information of the job.
  std::string encode(const job_commands::DeployTasks&, bool knows_job) const;

 private:
  const std::shared_ptr<const std::string> job_information_;
  const std::shared_ptr<const TaskManagerTable> task_managers_;
  const std::shared_ptr<EncodedGroups> groups_;
  const uint64_t offload_min_bytes_;
};

}  // namespace freshet
