#include "runtime/task/replay.h"

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
  records_++;
  bytes_ += encoder_.bytes().size();
  add(current_, {ElementKind::kRecord, timestamp_, std::string(encoder_.bytes())});
}

void CapturePartition::broadcast_event(ElementKind kind, std::string_view payload) {
  for (uint32_t i = 0; i < subpartitions_; i++) add(i, {kind, INT64_MIN, std::string(payload)});
  unflushed_ = false;
}

void CapturePartition::add(uint32_t subpartition, RecordedElement element) {
  CHECK(!ended_);
  unflushed_ = true;
  if (element.kind != ElementKind::kBarrier) {
    ChannelPosition& position = positions_[subpartition];
    position.peer = subpartition;
    position.elements++;
    position.hash = rolling_hash(position.hash, element.kind, element.timestamp, element.payload);
  }
  if (keep_elements_) elements_[subpartition].push_back(std::move(element));
}

void CapturePartition::end_of_data() {
  ended_ = true;
  unflushed_ = false;
}

std::vector<ChannelPosition> CapturePartition::positions() const {
  std::vector<ChannelPosition> positions;
  for (const auto& [subpartition, position] : positions_) positions.push_back(position);
  return positions;
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

class FailureListener final : public TaskListener {
 public:
  void on_state(TaskStateChange change) override {
    if (change.state == TaskState::kFailed) cause = change.cause;
  }
  Status cause;
};

Status compare(const AttemptId& attempt, uint32_t output,
               const std::vector<ChannelPosition>& recorded,
               const std::vector<ChannelPosition>& repeated) {
  const auto where = [&](uint32_t subpartition) {
    return "task " + to_string(attempt) + ", output " + std::to_string(output) + ", subpartition " +
           std::to_string(subpartition) + ": ";
  };
  std::map<uint32_t, std::pair<ChannelPosition, ChannelPosition>> both;
  for (const ChannelPosition& position : recorded) both[position.peer].first = position;
  for (const ChannelPosition& position : repeated) both[position.peer].second = position;
  for (const auto& [subpartition, pair] : both) {
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

}  // namespace

Status verify_recording(const TaskRecording& recording, const JobGraph& graph,
                        std::shared_ptr<const BuiltJob> built, FileSystem& files) {
  const VertexId vertex = recording.attempt.subtask.vertex;
  std::vector<std::shared_ptr<InputGate>> gates;
  for (size_t i = 0; i < graph.inputs_of(vertex).size(); i++) {
    const auto recorded = recording.inputs.find(i);
    gates.push_back(std::make_shared<ReplayGate>(
        recorded == recording.inputs.end() ? RecordedInput{} : recorded->second));
  }
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (DatasetId dataset : graph.outputs_of(vertex)) {
    const JobEdge& edge = graph.edges[dataset.value];
    const IndexRange consumers = consumers_of_producer(
        edge.partitioning, recording.attempt.subtask.index,
        graph.vertices[vertex.value].parallelism, graph.vertices[edge.consumer.value].parallelism);
    partitions.push_back(std::make_shared<CapturePartition>(consumers.size(), false));
  }
  ManualClock clock;
  ReadOnlyFiles read_only(files);
  const auto listener = std::make_shared<FailureListener>();
  auto decisions = std::make_unique<ReplayingDecisions>(recording.decisions.bytes());
  const ReplayingDecisions& replaying = *decisions;
  StreamTask task({recording.attempt, std::make_shared<const JobGraph>(graph), std::move(built),
                   recording.settings},
                  {clock, read_only, nullptr, listener}, std::move(decisions));
  task.connect(std::move(gates), partitions);
  while (task.step() == StepResult::kWorked) {
  }
  if (Status status = replaying.status(); !status.ok()) {
    return status.with_context("task " + to_string(recording.attempt) +
                               " cannot be executed again");
  }
  for (size_t i = 0; i < partitions.size(); i++) {
    const auto recorded = recording.outputs.find(i);
    if (recorded == recording.outputs.end()) continue;
    RETURN_IF_ERROR(compare(recording.attempt, i, recorded->second, partitions[i]->positions()));
  }
  return Status();
}

}  // namespace freshet
