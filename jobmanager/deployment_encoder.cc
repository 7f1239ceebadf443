#include "jobmanager/deployment_encoder.h"

#include <deque>
#include <utility>

#include "jobmanager/control_messages.h"
#include "jobmanager/encoded_fields.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {

std::string name_of(const EncodedGroups::Encoded& group) {
  if (group.hash.empty()) return {};
  proto::GateGroup name;
  name.set_hash(group.hash);
  return name.SerializeAsString();
}

}  // namespace

DeploymentEncoder::DeploymentEncoder(std::shared_ptr<const std::string> job_information,
                                     std::shared_ptr<const TaskManagerTable> task_managers,
                                     std::shared_ptr<EncodedGroups> groups,
                                     uint64_t offload_min_bytes)
    : job_information_(std::move(job_information)),
      task_managers_(std::move(task_managers)),
      groups_(std::move(groups)),
      offload_min_bytes_(offload_min_bytes) {}

std::string DeploymentEncoder::encode(const job_commands::DeployTasks& command,
                                      bool knows_job) const {
  proto::DeployTasks own;  // What no other TaskManager gets.
  own.set_check(command.check);
  if (knows_job)
    control_messages::write(command.tasks.front().attempt.job, own.mutable_known_job());
  for (const job_commands::TaskDeployment& task : command.tasks) {
    proto::TaskDeployment* to = own.add_tasks();
    control_messages::write(task.attempt, to->mutable_attempt());
    to->set_allocation(task.allocation.value);
    to->set_slot(task.slot);
    for (const uint32_t group : task.groups) to->add_groups(group);
  }
  EncodedFields message;
  if (!knows_job) message.add(proto::DeployTasks::kJobFieldNumber, *job_information_);
  std::deque<EncodedGroups::Encoded> encoded;  // Until all is put together.
  for (const job_commands::SentGroup& sent : command.groups) {
    const auto& group = encoded.emplace_back(groups_->get(sent.group, *task_managers_));
    const bool left_out =
        !group.hash.empty() && (sent.known || group.bytes->size() >= offload_min_bytes_);
    message.add(proto::DeployTasks::kGroupsFieldNumber,
                left_out ? std::string_view() : std::string_view(*group.bytes), name_of(group));
  }
  message.add_all_of(own.SerializeAsString());
  return message.enclosed(proto::Envelope::kDeployTasksFieldNumber);
}

}  // namespace freshet
