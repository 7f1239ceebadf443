#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/task/task_recorder.h"
#include "shuffle/input_gate.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// Gives recorded elements again, channel by channel. All are there from the start.
class ReplayGate final : public InputGate {
 public:
  explicit ReplayGate(RecordedInput input) : input_(std::move(input)) {}

  std::optional<uint32_t> next_ready() override;
  void ready(std::vector<uint32_t>* producers) override;
  std::optional<Element> take_from(uint32_t producer) override;
  std::optional<RecordRun> begin_run(uint32_t, uint32_t, const bool*) override {
    return std::nullopt;
  }
  void end_run(uint32_t, const RecordRun&) override {}
  void end_step() override {}
  bool ended() const override;
  Status reattach(const Move&) override { return Status(); }
  std::vector<ChannelPosition> positions() const override;
  uint64_t records_read() const override { return records_; }
  uint64_t bytes_read() const override { return bytes_; }
  void release() override {}

 private:
  RecordedInput input_;
  std::map<uint32_t, ChannelPosition> taken_;  // A channel is in it after its first element.
  uint32_t turn_ = 0;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
};

/// Takes everything at once, numbers and hashes it, and keeps it if asked to.
class CapturePartition final : public ResultPartition {
 public:
  CapturePartition(uint32_t subpartitions, bool keep_elements)
      : ResultPartition(subpartitions),
        subpartitions_(subpartitions),
        keep_elements_(keep_elements) {}

  bool available() const override { return available_ && owed_ == 0; }
  bool spilled() const override { return owed_ != 0; }
  Duration waited() const override { return waited_; }
  bool pay_back() override;
  const Status& status() const override { return status_; }
  void watch(bool* full, const std::atomic<bool>* cancelled) override {
    full_ = full;
    cancelled_ = cancelled;
  }
  Encoder& begin_record(uint32_t subpartition, EpochMillis timestamp) override;
  void end_record() override;
  void write_to_all() override { to_all_ = true; }
  void broadcast_event(ElementKind kind, std::string_view payload) override;
  void end_step() override { ++steps_; }
  void flush() override { unflushed_ = false; }
  void flush_older() override { flush(); }
  bool wants_flush() const override { return unflushed_; }
  void end_of_data() override;
  std::vector<ChannelPosition> positions() const override;
  uint64_t records_written() const override { return records_; }
  uint64_t bytes_written() const override { return bytes_; }
  void release() override { released_ = true; }

  /// The position of a channel when it had `elements` of them; none when it never had so many.
  std::optional<ChannelPosition> position_at(uint32_t subpartition, uint64_t elements) const;

  /// How many ended.
  uint64_t steps() const { return steps_; }

  /// For tests of back pressure.
  void set_available(bool available) {
    available_ = available;
    if (full_ != nullptr) *full_ = !available;
  }
  /// For tests: the writing function under way waits for the disk.
  void wait_for_disk(Duration duration) { waited_ += duration; }

  /// For tests of what is spilled: `parts` are owed, of which each pay_back() brings back one,
  /// while it is available.
  void set_owed(uint32_t parts) {
    owed_ = parts;
    if (full_ != nullptr) *full_ = !available();
  }
  void set_status(Status status) { status_ = std::move(status); }
  const std::vector<RecordedElement>& elements(uint32_t subpartition) {
    return elements_[subpartition];
  }
  bool ended() const { return ended_; }
  bool released() const { return released_; }

 private:
  void add(uint32_t subpartition, RecordedElement element);

  const uint32_t subpartitions_;
  const bool keep_elements_;
  Encoder encoder_;
  uint32_t current_ = 0;
  EpochMillis timestamp_ = 0;
  std::map<uint32_t, std::vector<uint64_t>> hashes_;  // Of each channel, after each element.
  std::map<uint32_t, std::vector<RecordedElement>> elements_;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  bool to_all_ = false;
  bool available_ = true;
  uint64_t steps_ = 0;
  uint32_t owed_ = 0;
  Duration waited_{};
  Status status_;
  bool* full_ = nullptr;
  const std::atomic<bool>* cancelled_ = nullptr;
  bool unflushed_ = false;
  bool ended_ = false;
  bool released_ = false;
};

/// What a task gave when it was executed again.
struct RepeatedTask {
  std::vector<std::shared_ptr<CapturePartition>> outputs;  // By index of the partition.
  RecordedFiles files;
};

/// Executes a recorded task again, alone, from its decisions and inputs, and gives its outputs as
/// they are then. kDataLoss says what is not as it was: decisions that cannot be followed, an
/// element that was taken and is not now; for partitions that were released in good order other
/// numbers of elements or other hashes (where hashes were recorded); for files that it wrote and
/// closed another content, and for those that it did not come to close another beginning. Then
/// something chose otherwise, past Decisions. A last decision that the task died on may be left
/// over. Files are read through `files`; what the task writes does not come there.
Result<RepeatedTask> repeat_recording(const TaskRecording&, const JobGraph&,
                                      std::shared_ptr<const BuiltJob>, FileSystem& files);

/// The same, for who needs no outputs.
Status verify_recording(const TaskRecording&, const JobGraph&, std::shared_ptr<const BuiltJob>,
                        FileSystem& files);

}  // namespace freshet
