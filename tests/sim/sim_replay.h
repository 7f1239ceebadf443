#pragma once

#include <memory>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/task/task_recorder.h"

namespace freshet::sim {

/// Executes every recorded attempt of a job again, alone, whatever became of it, and holds what its
/// consumers took against what it sends then: numbers and hashes must agree as far as a consumer
/// got. A channel that is shorter now than what its consumer has is an orphan. How many attempts
/// there were, or the first error (kDataLoss).
Result<size_t> repeat_all(const std::vector<const TaskRecording*>& recordings,
                          const JobGraph& graph, std::shared_ptr<const BuiltJob> built,
                          FileSystem& files);

}  // namespace freshet::sim
