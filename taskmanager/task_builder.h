#pragma once

#include <memory>

#include "runtime/base/faults.h"
#include "runtime/task/stream_task.h"
#include "runtime/task/task_recorder.h"
#include "shuffle/shuffle_environment.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

struct TaskBuilderEnvironment {
  ShuffleEnvironment& shuffle;
  TaskRunner& tasks;
  const Clock& clock;
  FileSystem& files;
  Random& random;
  Faults* faults = nullptr;
  TaskRecorder* recorder = nullptr;
  bool channel_hash = false;
};

/// Memory for buffers without which build_task() fails.
uint64_t least_buffer_bytes(const JobInformation&, const TaskDeployment&,
                            const ShuffleEnvironment&);

/// Makes the partitions, gates and the task of one deployment, ready to be stepped. An error leaves
/// nothing behind.
Result<std::shared_ptr<StreamTask>> build_task(
    const JobInformation&, std::shared_ptr<const BuiltJob>, const TaskDeployment&,
    std::shared_ptr<TaskListener>,
    std::function<void(const AttemptId&, const ChannelLoss&)> on_loss,
    const TaskBuilderEnvironment&);

}  // namespace freshet
