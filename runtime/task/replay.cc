#include "runtime/task/replay.h"

#include <functional>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/task/stream_task.h"

namespace freshet {

std::optional<uint32_t> ReplayGate::next_ready() {
  std::vector<uint32_t> producers;
  ready(&producers);
  if (producers.empty()) return std::nullopt;
  for (uint32_t producer : producers) {
    if (producer >= turn_) return producer;
  }
  return producers.front();
}

void ReplayGate::ready(std::vector<uint32_t>* producers) {
  producers->clear();
  for (const auto& [producer, elements] : input_.channels) {
    const auto taken = taken_.find(producer);
    if (elements.size() > (taken == taken_.end() ? 0 : taken->second.elements))
      producers->push_back(producer);
  }
}

std::optional<Element> ReplayGate::take_from(uint32_t producer) {
  const auto channel = input_.channels.find(producer);
  if (channel == input_.channels.end()) return std::nullopt;
  ChannelPosition& position = taken_[producer];
  position.peer = producer;
  if (position.elements == channel->second.size()) return std::nullopt;
  const RecordedElement& element = channel->second[position.elements++];
  position.hash = rolling_hash(position.hash, element.kind, element.timestamp, element.payload);
  turn_ = producer + 1;
  if (element.kind == ElementKind::kRecord) records_++;
  bytes_ += element.payload.size();
  return Element{element.kind, producer, element.timestamp, element.payload};
}

bool ReplayGate::ended() const {
  if (!input_.ended) return false;
  for (const auto& [producer, elements] : input_.channels) {
    const auto taken = taken_.find(producer);
    if (elements.size() > (taken == taken_.end() ? 0 : taken->second.elements)) return false;
  }
  return true;
}

std::vector<ChannelPosition> ReplayGate::positions() const {
  std::vector<ChannelPosition> positions;
  for (const auto& [producer, position] : taken_) positions.push_back(position);
  return positions;
}

Encoder& CapturePartition::begin_record(uint32_t subpartition, EpochMillis timestamp) {
  CHECK(subpartition < subpartitions_);
  current_ = subpartition;
  timestamp_ = timestamp;
  encoder_.start(nullptr, nullptr);
  return encoder_;
}

void CapturePartition::end_record() {
  CHECK(!to_all_ || current_ == 0);
  const uint32_t end = to_all_ ? subpartitions_ : current_ + 1;
  for (uint32_t i = current_; i < end; i++) {
    records_++;
    bytes_ += encoder_.bytes().size();
    add(i, {ElementKind::kRecord, timestamp_, std::string(encoder_.bytes())});
  }
  if ((cancelled_ != nullptr && cancelled_->load(std::memory_order_acquire)) || !status_.ok())
    throw WriteAbandoned();
}

void CapturePartition::broadcast_event(ElementKind kind, std::string_view payload) {
  for (uint32_t i = 0; i < subpartitions_; i++) add(i, {kind, INT64_MIN, std::string(payload)});
  unflushed_ = false;
}

void CapturePartition::add(uint32_t subpartition, RecordedElement element) {
  CHECK(!ended_);
  unflushed_ = true;
  if (element.kind != ElementKind::kBarrier) {
    std::vector<uint64_t>& hashes = hashes_[subpartition];
    const uint64_t before = hashes.empty() ? 0 : hashes.back();
    hashes.push_back(rolling_hash(before, element.kind, element.timestamp, element.payload));
  }
  if (keep_elements_) elements_[subpartition].push_back(std::move(element));
}

bool CapturePartition::pay_back() {
  if (!available_ || owed_ == 0) return false;
  return --owed_ != 0;
}

void CapturePartition::end_of_data() {
  ended_ = true;
  unflushed_ = false;
}

std::vector<ChannelPosition> CapturePartition::positions() const {
  std::vector<ChannelPosition> positions;
  for (const auto& [subpartition, hashes] : hashes_)
    positions.push_back({subpartition, hashes.size(), hashes.back()});
  return positions;
}

std::optional<ChannelPosition> CapturePartition::position_at(uint32_t subpartition,
                                                             uint64_t elements) const {
  if (elements == 0) return ChannelPosition{subpartition, 0, 0};
  const auto hashes = hashes_.find(subpartition);
  if (hashes == hashes_.end() || hashes->second.size() < elements) return std::nullopt;
  return ChannelPosition{subpartition, elements, hashes->second[elements - 1]};
}

namespace {

/// Reads as usual; what is written, made or removed goes nowhere.
class ReadOnlyFiles final : public FileSystem {
 public:
  explicit ReadOnlyFiles(FileSystem& files) : files_(files) {}

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return files_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string&) override {
    return std::unique_ptr<WritableFile>(std::make_unique<Nowhere>());
  }
  Result<FileInfo> info(const std::string& path) override { return files_.info(path); }
  Result<std::vector<FileInfo>> list(const std::string& directory) override {
    return files_.list(directory);
  }
  Status create_directories(const std::string&) override { return Status(); }
  Status create_new_directory(const std::string&) override { return Status(); }
  Status rename(const std::string&, const std::string&) override { return Status(); }
  Status remove(const std::string&) override { return Status(); }
  Status remove_all(const std::string&) override { return Status(); }
  Status remove_empty_directory(const std::string&) override { return Status(); }

 private:
  class Nowhere final : public WritableFile {
   public:
    Status append(std::string_view) override { return Status(); }
    Status sync() override { return Status(); }
    Status close() override { return Status(); }
  };

  FileSystem& files_;
};

class SilentListener final : public TaskListener {
 public:
  void on_state(TaskStateChange) override {}
  void on_timer_wanted(const AttemptId&, Duration) override {}
};

std::string name_of(const AttemptId& attempt) { return "task " + to_string(attempt); }

/// What it sent until its partitions were released, against what it sent now. Of its last element
/// it may not have sent all.
Status compare_output(const AttemptId& attempt, uint32_t output, bool abandoned,
                      const std::vector<ChannelPosition>& recorded,
                      const CapturePartition& repeated) {
  const auto where = [&](uint32_t subpartition) {
    return name_of(attempt) + ", output " + std::to_string(output) + ", subpartition " +
           std::to_string(subpartition) + ": ";
  };
  std::map<uint32_t, std::pair<ChannelPosition, ChannelPosition>> both;
  for (const ChannelPosition& position : recorded) both[position.peer].first = position;
  for (const ChannelPosition& position : repeated.positions())
    both[position.peer].second = position;
  for (auto& [subpartition, pair] : both) {
    if (abandoned)
      pair.second = repeated.position_at(subpartition, pair.first.elements).value_or(pair.second);
    if (pair.first.elements != pair.second.elements) {
      return data_loss(where(subpartition) + std::to_string(pair.first.elements) +
                       " elements were sent, executed again " +
                       std::to_string(pair.second.elements));
    }
    if (pair.first.hash != 0 && pair.first.hash != pair.second.hash) {
      return data_loss(where(subpartition) + "other elements were sent than when executed again");
    }
  }
  return Status();
}

/// Decisions are logged before they are acted on: every element that was taken is taken again.
Status compare_input(const AttemptId& attempt, uint32_t index, const RecordedInput& recorded,
                     const InputGate& repeated) {
  const std::vector<ChannelPosition> positions = repeated.positions();
  for (const auto& [producer, elements] : recorded.channels) {
    const uint64_t taken = position_of(positions, producer).elements;
    if (taken == elements.size()) continue;
    return data_loss(name_of(attempt) + " took " + std::to_string(elements.size()) +
                     " elements of producer " + std::to_string(producer) + " of input " +
                     std::to_string(index) + ", executed again " + std::to_string(taken));
  }
  return Status();
}

std::vector<std::shared_ptr<InputGate>> recorded_gates(const TaskRecording& recording,
                                                       const JobGraph& graph) {
  std::vector<std::shared_ptr<InputGate>> gates;
  for (size_t i = 0; i < graph.inputs_of(recording.attempt.subtask.vertex).size(); i++) {
    const auto recorded = recording.inputs.find(i);
    gates.push_back(std::make_shared<ReplayGate>(
        recorded == recording.inputs.end() ? RecordedInput{} : recorded->second));
  }
  return gates;
}

std::vector<std::shared_ptr<CapturePartition>> empty_partitions(const AttemptId& attempt,
                                                                const JobGraph& graph) {
  std::vector<std::shared_ptr<CapturePartition>> partitions;
  for (DatasetId dataset : graph.outputs_of(attempt.subtask.vertex)) {
    const JobEdge& edge = graph.edges[dataset.value];
    const IndexRange consumers = consumers_of_producer(
        edge.partitioning, attempt.subtask.index, graph.vertices[edge.producer.value].parallelism,
        graph.vertices[edge.consumer.value].parallelism);
    partitions.push_back(std::make_shared<CapturePartition>(consumers.size(), false));
  }
  return partitions;
}

/// What it had written must be there again; after that it may have died.
Status compare_files(const AttemptId& attempt, const RecordedFiles& recorded,
                     const RecordedFiles& repeated) {
  for (const auto& [path, before] : recorded) {
    const auto after = repeated.find(path);
    const std::string now = after == repeated.end() ? std::string() : after->second.content;
    if (before.closed ? now == before.content : now.starts_with(before.content)) continue;
    return data_loss(name_of(attempt) + " wrote other bytes to " + path +
                     " than when executed again");
  }
  return Status();
}

/// Steps until nothing is left to do.
Status execute(const TaskRecording& recording, const JobGraph& graph,
               std::shared_ptr<const BuiltJob> built, FileSystem& files,
               const std::vector<std::shared_ptr<InputGate>>& gates, RepeatedTask& repeated) {
  ManualClock clock;
  ReadOnlyFiles read_only(files);
  const std::function<bool()> alive = [] { return true; };
  RecordingFileSystem recording_files(read_only, repeated.files, alive);
  const auto listener = std::make_shared<SilentListener>();
  auto decisions = std::make_unique<ReplayingDecisions>(recording.decisions.bytes());
  const ReplayingDecisions& replaying = *decisions;
  StreamTask task({recording.attempt, std::make_shared<const JobGraph>(graph), std::move(built),
                   recording.settings},
                  {clock, recording_files, nullptr, listener}, std::move(decisions));
  task.connect(gates, {repeated.outputs.begin(), repeated.outputs.end()});
  while (task.step() == StepResult::kWorked) {
  }
  Status status = replaying.status();
  if (status.ok() && !replaying.only_last_left()) {
    status = data_loss("it does not come to the end of its decisions");
  }
  if (status.ok()) return status;
  return status.with_context(name_of(recording.attempt) + " cannot be executed again");
}

}  // namespace

Result<RepeatedTask> repeat_recording(const TaskRecording& recording, const JobGraph& graph,
                                      std::shared_ptr<const BuiltJob> built, FileSystem& files) {
  const AttemptId& attempt = recording.attempt;
  const auto gates = recorded_gates(recording, graph);
  RepeatedTask repeated{empty_partitions(attempt, graph), {}};
  // A task that never ran decided nothing, and sends nothing.
  if (!recording.decisions.bytes().empty()) {
    RETURN_IF_ERROR(execute(recording, graph, std::move(built), files, gates, repeated));
  }
  for (const auto& [index, recorded] : recording.inputs) {
    RETURN_IF_ERROR(compare_input(attempt, index, recorded, *gates.at(index)));
  }
  for (const auto& [index, recorded] : recording.outputs) {
    RETURN_IF_ERROR(
        compare_output(attempt, index, recording.abandoned, recorded, *repeated.outputs.at(index)));
  }
  RETURN_IF_ERROR(compare_files(attempt, recording.files, repeated.files));
  return repeated;
}

Status verify_recording(const TaskRecording& recording, const JobGraph& graph,
                        std::shared_ptr<const BuiltJob> built, FileSystem& files) {
  return repeat_recording(recording, graph, std::move(built), files).status();
}

}  // namespace freshet
