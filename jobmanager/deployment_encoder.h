#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobmanager/job_commands.h"
#include "jobmanager/resource_manager.h"

namespace freshet {

/// Makes the messages of one deployment of a job. What several TaskManagers get alike is encoded
/// once, and copied to each message as bytes: the information of the job by whoever made the
/// encoder, each group of producers by its first message. A next deployment has an encoder of its
/// own, because producers have moved.
///
/// May be made on one thread and used on another.
class DeploymentEncoder {
 public:
  /// `job_information` is what control_messages::encode_job_information() gave; `task_managers` has
  /// all that the deployment names.
  DeploymentEncoder(std::shared_ptr<const std::string> job_information,
                    const std::vector<TaskManagerInfo>& task_managers);

  /// A whole envelope.
  std::string encode(const job_commands::DeployTasks&);

  size_t groups_encoded() const { return groups_.size(); }

 private:
  const std::string& encoded(const std::shared_ptr<const job_commands::GateGroup>&);

  const std::shared_ptr<const std::string> job_information_;
  std::map<TaskManagerId, TaskManagerInfo> task_managers_;
  std::map<std::shared_ptr<const job_commands::GateGroup>, std::string> groups_;  // Only looked up.
};

}  // namespace freshet
