#include "runtime/task/task_recorder.h"

#include <utility>

namespace freshet {

namespace {

class RecordingGate final : public InputGate {
 public:
  RecordingGate(std::shared_ptr<InputGate> gate, RecordedInput& to,
                const std::function<bool()>& alive)
      : gate_(std::move(gate)), to_(to), alive_(alive) {}

  std::optional<uint32_t> next_ready() override { return gate_->next_ready(); }
  void ready(std::vector<uint32_t>* producers) override { gate_->ready(producers); }
  std::optional<Element> take_from(uint32_t producer) override {
    std::optional<Element> element = gate_->take_from(producer);
    if (element && alive_()) {
      to_.channels[producer].push_back(
          {element->kind, element->timestamp, std::string(element->payload)});
    }
    return element;
  }
  /// Each element is recorded.
  std::optional<RecordRun> begin_run(uint32_t, uint32_t, const bool*) override {
    return std::nullopt;
  }
  void end_run(uint32_t, const RecordRun&) override {}
  void end_step() override { gate_->end_step(); }
  bool ended() const override {
    const bool ended = gate_->ended();
    if (alive_()) to_.ended = ended;
    return ended;
  }
  Status reattach(const Move& move) override { return gate_->reattach(move); }
  std::vector<ChannelPosition> positions() const override { return gate_->positions(); }
  uint64_t records_read() const override { return gate_->records_read(); }
  uint64_t bytes_read() const override { return gate_->bytes_read(); }
  void release() override {
    if (alive_()) to_.positions = gate_->positions();
    gate_->release();
  }

 private:
  const std::shared_ptr<InputGate> gate_;
  RecordedInput& to_;
  const std::function<bool()>& alive_;
};

class RecordingPartition final : public ResultPartition {
 public:
  RecordingPartition(std::shared_ptr<ResultPartition> partition, TaskRecording& to, uint32_t index,
                     const std::function<bool()>& alive)
      : ResultPartition(0),
        partition_(std::move(partition)),
        to_(to),
        index_(index),
        alive_(alive) {}

  bool available() const override { return partition_->available(); }
  bool spilled() const override { return partition_->spilled(); }
  bool pay_back() override { return partition_->pay_back(); }
  Duration waited() const override { return partition_->waited(); }
  const Status& status() const override { return partition_->status(); }
  void watch(bool* full, const std::atomic<bool>* cancelled) override {
    partition_->watch(full, cancelled);
  }
  Encoder& begin_record(uint32_t subpartition, EpochMillis timestamp) override {
    return partition_->begin_record(subpartition, timestamp);
  }
  void end_record() override {
    try {
      partition_->end_record();
    } catch (const WriteAbandoned&) {
      to_.abandoned = true;
      throw;
    }
  }
  void write_to_all() override { partition_->write_to_all(); }
  void broadcast_event(ElementKind kind, std::string_view payload) override {
    partition_->broadcast_event(kind, payload);
  }
  void end_step() override { partition_->end_step(); }
  void flush() override { partition_->flush(); }
  void flush_older() override { partition_->flush_older(); }
  bool wants_flush() const override { return partition_->wants_flush(); }
  void end_of_data() override { partition_->end_of_data(); }
  bool handed_over() override { return partition_->handed_over(); }
  std::optional<uint64_t> stored_hash() const override { return partition_->stored_hash(); }
  std::vector<ChannelPosition> positions() const override { return partition_->positions(); }
  uint64_t records_written() const override { return partition_->records_written(); }
  uint64_t bytes_written() const override { return partition_->bytes_written(); }
  void release() override {
    if (alive_()) to_.outputs[index_] = partition_->positions();
    partition_->release();
  }

 private:
  const std::shared_ptr<ResultPartition> partition_;
  TaskRecording& to_;
  const uint32_t index_;
  const std::function<bool()>& alive_;
};

}  // namespace

class MemoryTaskRecorder::LivingLog final : public DecisionLog {
 public:
  LivingLog(MemoryDecisionLog& log, const std::function<bool()>& alive)
      : log_(log), alive_(alive) {}
  void append(const Decision& decision) override {
    if (alive_()) log_.append(decision);
  }

 private:
  MemoryDecisionLog& log_;
  const std::function<bool()>& alive_;
};

MemoryTaskRecorder::MemoryTaskRecorder(std::function<bool()> alive)
    : alive_(alive ? std::move(alive) : [] { return true; }) {}

TaskRecording& MemoryTaskRecorder::recording(const AttemptId& attempt) {
  auto& recording = recordings_[attempt];
  if (recording == nullptr) {
    recording = std::make_unique<TaskRecording>();
    recording->attempt = attempt;
  }
  return *recording;
}

DecisionLog* MemoryTaskRecorder::decision_log(const AttemptId& attempt,
                                              const std::map<std::string, std::string>& settings) {
  TaskRecording& one = recording(attempt);
  one.settings = settings;
  logs_.push_back(std::make_unique<LivingLog>(one.decisions, alive_));
  return logs_.back().get();
}

std::shared_ptr<InputGate> MemoryTaskRecorder::record(
    const AttemptId& attempt, uint32_t index,
    const std::vector<InputGate::ProducerRange>& producers, std::shared_ptr<InputGate> gate) {
  RecordedInput& input = recording(attempt).inputs[index];
  input.producers = producers;
  return std::make_shared<RecordingGate>(std::move(gate), input, alive_);
}

std::shared_ptr<ResultPartition> MemoryTaskRecorder::record(
    const AttemptId& attempt, uint32_t index, std::shared_ptr<ResultPartition> partition) {
  return std::make_shared<RecordingPartition>(std::move(partition), recording(attempt), index,
                                              alive_);
}

FileSystem& MemoryTaskRecorder::record(const AttemptId& attempt, FileSystem& files) {
  files_.push_back(std::make_unique<RecordingFileSystem>(files, recording(attempt).files, alive_));
  return *files_.back();
}

}  // namespace freshet
