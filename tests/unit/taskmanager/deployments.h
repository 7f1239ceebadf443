#pragma once

#include "runtime/base/hash.h"
#include "runtime/graph/job_graph.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"
#include "tests/unit/taskmanager/two_vertex_job.h"

namespace freshet::taskmanager_test {

inline const JobId kJob{11, 22};
inline const std::string kModule = "these bytes are a module";

inline AttemptId attempt_of(uint32_t vertex, AttemptNumber attempt = 0) {
  return {kJob, SubtaskId{VertexId{vertex}, 0}, attempt};
}

inline void fill_job(proto::JobInformation* job) {
  to_proto(kJob, job->mutable_job());
  job->set_name("numbers");
  job->set_module_hash(content_hash(kModule));
  job->set_fingerprint(fingerprint_of(logical_graph()));
  to_proto(job_graph(), job->mutable_graph());
  to_proto(BuildOptions{}, job->mutable_build());
}

/// Both tasks of the job, in one slot of the TaskManager at `data`.
inline proto::Envelope deployment(TaskManagerId task_manager, const Address& data,
                                  AttemptNumber attempt = 0, bool check = false) {
  proto::Envelope envelope;
  proto::DeployTasks* deploy = envelope.mutable_deploy_tasks();
  fill_job(deploy->mutable_job());
  deploy->set_check(check);
  proto::GateGroup* group = deploy->add_groups();
  proto::TaskManagerLocation* location = group->add_task_managers();
  location->set_task_manager(task_manager.value);
  location->set_host(data.host);
  location->set_port(data.port);
  group->add_run_lengths(1);
  group->add_run_locations(0);
  group->add_run_attempts(attempt);
  for (uint32_t vertex : {0, 1}) {
    proto::TaskDeployment* task = deploy->add_tasks();
    to_proto(attempt_of(vertex, attempt), task->mutable_attempt());
    task->set_allocation(5 + attempt);
    if (vertex == 1) task->add_groups(0);
  }
  return envelope;
}

}  // namespace freshet::taskmanager_test
