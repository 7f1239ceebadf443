#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/task/task_recorder.h"

namespace freshet::sim {

/// How much was compared: a check that compares nothing finds nothing.
struct ReplayCounts {
  size_t attempts = 0;
  size_t channels = 0;  // From which a consumer took at least one element.
  size_t files = 0;     // That were written.
};

/// Executes every recorded attempt of a job again, alone, whatever became of it, and holds what its
/// consumers took against what it sends then: numbers and hashes must agree as far as a consumer
/// got. A channel that is shorter now than what its consumer has is an orphan. What it wrote to
/// files must have the same bytes. Gives what was compared, or the first error (kDataLoss).
Result<ReplayCounts> repeat_all(const std::vector<const TaskRecording*>& recordings,
                                const JobGraph& graph, std::shared_ptr<const BuiltJob> built,
                                FileSystem& files);

}  // namespace freshet::sim
