#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"
#include "runtime/graph/task_state.h"
#include "runtime/operators/operator.h"

namespace freshet {

/// Numbers of one task since it started. Busy, idle and back-pressured time add up to its life.
struct TaskProgress {
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t buffers_out = 0;
  uint64_t source_records = 0;  // Of a source's reader: what it has emitted.
  // Together the time since the begin of the first step.
  Duration busy{};  // In a step, or with more to do and no worker free.
  Duration idle{};
  Duration back_pressured{};       // Something to do, but no space in an output.
  Duration hard_back_pressured{};  // Of that, in the middle of an element.
  Duration initialization{};       // From kInitializing to kRunning.
  // Buffers and their bytes, from producers of this process and of others.
  uint64_t local_buffers_in = 0;
  uint64_t local_bytes_in = 0;
  uint64_t remote_buffers_in = 0;
  uint64_t remote_bytes_in = 0;
  uint64_t inputs_read = 0;  // Bits: the first 64 inputs whose last element has been taken.
};

/// How full a task's buffers are now. Of several gates or partitions the fullest.
struct TaskLoad {
  uint64_t input_queue_length = 0;   // Buffers.
  uint64_t output_queue_length = 0;  // Buffers.
  uint64_t input_queue_bytes = 0;
  uint64_t output_queue_bytes = 0;
  double in_pool_usage = 0;
  double floating_usage = 0;   // Of the receive blocks that are not of one channel.
  double exclusive_usage = 0;  // Of those that are.
  double out_pool_usage = 0;
  bool back_pressured = false;
};

/// What a task has stored for the consumers of one output: ResultPartition::stored_hash().
struct StoredOutput {
  DatasetId dataset;
  uint64_t hash = 0;
  bool operator==(const StoredOutput&) const = default;
};

/// What a task says of itself when its state changes.
struct TaskStateChange {
  AttemptId attempt;
  TaskState state = TaskState::kCreated;
  Status cause;                                // Of kFailed.
  std::string operator_name;                   // Of kFailed, when user code threw.
  std::vector<CommittableBytes> committables;  // Of kEndOfData.
  std::vector<StoredOutput> stored;            // Of kEndOfData: of blocking outputs.
  TaskProgress progress;
};

/// Hears of every state of a task, in order. Called on the thread that steps it.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void on_state(TaskStateChange change) = 0;

  /// The task is idle and wants to be told by on_timer(), and woken, when `delay` has passed. At
  /// most one such wish is open at a time.
  virtual void on_timer_wanted(const AttemptId&, Duration delay) = 0;
};

}  // namespace freshet
