#include "jobmanager/deployment_encoder.h"

#include <utility>

#include "jobmanager/control_messages.h"
#include "jobmanager/encoded_fields.h"
#include "runtime/base/check.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {

using job_commands::GateGroup;

std::string encode_group(const GateGroup& group,
                         const std::map<TaskManagerId, TaskManagerInfo>& task_managers) {
  proto::GateGroup message;
  message.set_dataset(group.dataset.value);
  message.set_stored(group.stored);
  for (const TaskManagerId id : group.task_managers) {
    proto::TaskManagerLocation* location = message.add_task_managers();
    location->set_task_manager(id.value);
    const auto known = task_managers.find(id);
    CHECK(known != task_managers.end());  // A job loses its slots before anything else is decided.
    const TaskManagerInfo& info = known->second;
    location->set_host(info.data_host);
    location->set_port(info.data_port);
    if (info.unix_address.empty()) continue;
    location->set_host_id(info.host_id);
    location->set_unix_address(info.unix_address);
  }
  for (const auto& range : group.producers) {
    proto::ProducerRange* producers = message.add_producers();
    producers->set_begin(range.producers.begin);
    producers->set_end(range.producers.end);
    producers->set_location(range.location);
    producers->set_attempt(range.attempt);
  }
  return message.SerializeAsString();
}

}  // namespace

DeploymentEncoder::DeploymentEncoder(std::shared_ptr<const std::string> job_information,
                                     const std::vector<TaskManagerInfo>& task_managers)
    : job_information_(std::move(job_information)) {
  for (const TaskManagerInfo& info : task_managers) task_managers_[info.id] = info;
}

const std::string& DeploymentEncoder::encoded(const std::shared_ptr<const GateGroup>& group) {
  const auto known = groups_.find(group);
  if (known != groups_.end()) return known->second;
  return groups_.emplace(group, encode_group(*group, task_managers_)).first->second;
}

std::string DeploymentEncoder::encode(const job_commands::DeployTasks& command) {
  proto::DeployTasks own;  // What no other TaskManager gets.
  own.set_check(command.check);
  for (const job_commands::TaskDeployment& task : command.tasks) {
    proto::TaskDeployment* to = own.add_tasks();
    control_messages::write(task.attempt, to->mutable_attempt());
    to->set_allocation(task.allocation.value);
    to->set_slot(task.slot);
    for (const uint32_t group : task.groups) to->add_groups(group);
  }
  EncodedFields message;
  message.add(proto::DeployTasks::kJobFieldNumber, *job_information_);
  for (const auto& group : command.groups) {
    message.add(proto::DeployTasks::kGroupsFieldNumber, encoded(group));
  }
  message.add_all_of(own.SerializeAsString());
  return message.enclosed(proto::Envelope::kDeployTasksFieldNumber);
}

}  // namespace freshet
