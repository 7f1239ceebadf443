#pragma once

#include <memory>
#include <optional>

#include "runtime/base/faults.h"
#include "runtime/task/stream_task.h"
#include "runtime/task/task_recorder.h"
#include "shuffle/shuffle_environment.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

/// What a TaskManager has for what the operators of batch jobs collect, beside its network memory.
struct ManagedMemory {
  uint64_t bytes = 256u << 20;                   // Shared by all slots.
  bool compresses = false;                       // What does not fit.
  std::shared_ptr<TempDirectories> directories;  // Of that.
};

struct TaskBuilderEnvironment {
  ShuffleEnvironment& shuffle;
  TaskRunner& tasks;
  const Clock& clock;
  FileSystem& files;
  Random& random;
  Faults* faults = nullptr;
  TaskRecorder* recorder = nullptr;
  bool channel_hash = false;
  uint32_t slots = 1;
  ManagedMemory memory;
};

/// What each operator that collects has in a task of `vertex`: an equal part of the slot's, which
/// it shares with those that may run at the same time in it. kInvalidArgument, with what to set,
/// when that is too little.
Result<OperatorMemory> operator_memory(const JobGraph&, const BuiltJob&, VertexId vertex,
                                       uint32_t slots, const ManagedMemory&);

/// Memory for buffers; without the least of it build_task() fails.
BufferNeed buffer_need(const JobInformation&, const TaskDeployment&, const ShuffleEnvironment&);

/// Makes the partitions, gates and the task of one deployment, ready to be stepped. An error leaves
/// nothing behind.
Result<std::shared_ptr<StreamTask>> build_task(
    const JobInformation&, std::shared_ptr<const BuiltJob>, const TaskDeployment&,
    std::shared_ptr<TaskListener>,
    std::function<void(const AttemptId&, const ChannelLoss&)> on_loss,
    const TaskBuilderEnvironment&);

}  // namespace freshet
