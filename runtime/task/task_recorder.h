#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/ids.h"
#include "runtime/task/decision_log.h"
#include "runtime/task/recorded_files.h"
#include "shuffle/input_gate.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// One element as a task took it.
struct RecordedElement {
  ElementKind kind = ElementKind::kRecord;
  EpochMillis timestamp = INT64_MIN;
  std::string payload;
};

/// What one gate gave, by producer, and whether it had ended when the task looked last.
struct RecordedInput {
  std::vector<InputGate::ProducerRange> producers;
  std::map<uint32_t, std::vector<RecordedElement>> channels;
  bool ended = false;
  std::vector<ChannelPosition> positions;  // As of the release, if it came to that.
};

/// Enough to execute a task again, alone, and to compare.
struct TaskRecording {
  AttemptId attempt;
  std::map<std::string, std::string> settings;
  MemoryDecisionLog decisions;
  std::map<uint32_t, RecordedInput> inputs;  // By index of the gate.
  std::map<uint32_t, std::vector<ChannelPosition>>
      outputs;  // By index of the partition; as of its release.
  bool abandoned =
      false;            // In the middle of its last decision, which sent no more: WriteAbandoned.
  RecordedFiles files;  // What its operators wrote.
};

/// Hands a simulation what its tasks do. In production there is none.
class TaskRecorder {
 public:
  virtual ~TaskRecorder() = default;

  /// The log of an attempt; it and what it is recorded in outlive the task.
  virtual DecisionLog* decision_log(const AttemptId&,
                                    const std::map<std::string, std::string>& settings) = 0;

  /// Gates and partitions that do as those given do, and record.
  virtual std::shared_ptr<InputGate> record(const AttemptId&, uint32_t index,
                                            const std::vector<InputGate::ProducerRange>& producers,
                                            std::shared_ptr<InputGate>) = 0;
  virtual std::shared_ptr<ResultPartition> record(const AttemptId&, uint32_t index,
                                                  std::shared_ptr<ResultPartition>) = 0;

  /// Files that do as those given do, and record what is written. They live as long as the
  /// recorder; the files given outlive the task.
  virtual FileSystem& record(const AttemptId&, FileSystem&) = 0;
};

/// Keeps recordings in memory, all that tasks read included. Not thread-safe: for tasks that run on
/// one thread.
class MemoryTaskRecorder final : public TaskRecorder {
 public:
  /// `alive` false: the process of the tasks is dead, and what they still seem to do is not
  /// recorded. Empty: always alive.
  explicit MemoryTaskRecorder(std::function<bool()> alive = {});

  DecisionLog* decision_log(const AttemptId&,
                            const std::map<std::string, std::string>& settings) override;
  std::shared_ptr<InputGate> record(const AttemptId&, uint32_t index,
                                    const std::vector<InputGate::ProducerRange>& producers,
                                    std::shared_ptr<InputGate>) override;
  std::shared_ptr<ResultPartition> record(const AttemptId&, uint32_t index,
                                          std::shared_ptr<ResultPartition>) override;
  FileSystem& record(const AttemptId&, FileSystem&) override;

  const std::map<AttemptId, std::unique_ptr<TaskRecording>>& recordings() const {
    return recordings_;
  }

  /// Frees one that was compared.
  void forget(const AttemptId& attempt) { recordings_.erase(attempt); }

 private:
  class LivingLog;

  TaskRecording& recording(const AttemptId&);

  const std::function<bool()> alive_;
  std::map<AttemptId, std::unique_ptr<TaskRecording>> recordings_;
  std::vector<std::unique_ptr<DecisionLog>> logs_;
  std::vector<std::unique_ptr<FileSystem>> files_;
};

}  // namespace freshet
