#include "tests/sim/sim_replay.h"

#include <map>
#include <string>
#include <utility>

#include "runtime/task/replay.h"

namespace freshet::sim {

namespace {

using Outputs = std::vector<std::shared_ptr<CapturePartition>>;

ChannelPosition position_of_elements(const std::vector<RecordedElement>& elements) {
  ChannelPosition position;
  for (const RecordedElement& element : elements) {
    if (element.kind == ElementKind::kBarrier) continue;
    ++position.elements;
    position.hash = rolling_hash(position.hash, element.kind, element.timestamp, element.payload);
  }
  return position;
}

/// Of the partition of this edge among those of its producer.
size_t output_index(const JobGraph& graph, const JobEdge& edge) {
  const std::vector<DatasetId> outputs = graph.outputs_of(edge.producer);
  size_t index = 0;
  while (outputs[index] != edge.id) ++index;
  return index;
}

/// One channel of one edge: its consumer's place in the producer's partition is its place among the
/// consumers of that producer.
Status compare_channel(const JobGraph& graph, const JobEdge& edge, const AttemptId& consumer,
                       const AttemptId& producer, const Outputs* outputs,
                       const ChannelPosition& taken) {
  const std::string where = "channel from task " + to_string(producer) + " to task " +
                            to_string(consumer) + " of dataset " + std::to_string(edge.id.value);
  if (taken.elements == 0) return Status();
  if (outputs == nullptr) return data_loss(where + ": orphans, nobody recorded the producer");
  const IndexRange consumers = consumers_of_producer(
      edge.partitioning, producer.subtask.index, graph.vertices[edge.producer.value].parallelism,
      graph.vertices[edge.consumer.value].parallelism);
  const CapturePartition& partition = *outputs->at(output_index(graph, edge));
  const auto sent = partition.position_at(consumer.subtask.index - consumers.begin, taken.elements);
  if (!sent.has_value()) {
    return data_loss(where + ": orphans, the consumer took " + std::to_string(taken.elements) +
                     " elements, which the producer does not send again");
  }
  if (sent->hash != taken.hash) {
    return data_loss(where + ": the consumer took other elements than are sent again");
  }
  return Status();
}

/// Of the producer, which may be another than the consumer's.
AttemptNumber attempt_read(const RecordedInput& input, uint32_t producer) {
  for (const InputGate::ProducerRange& range : input.producers) {
    if (producer >= range.begin && producer < range.end) return range.attempt;
  }
  return 0;
}

Status compare_inputs(const TaskRecording& consumer, const JobGraph& graph,
                      const std::map<AttemptId, Outputs>& sent, ReplayCounts& counts) {
  const std::vector<DatasetId> inputs = graph.inputs_of(consumer.attempt.subtask.vertex);
  for (const auto& [index, input] : consumer.inputs) {
    const JobEdge& edge = graph.edges[inputs.at(index).value];
    for (const auto& [index_of_producer, elements] : input.channels) {
      const AttemptId producer{consumer.attempt.job, SubtaskId{edge.producer, index_of_producer},
                               attempt_read(input, index_of_producer)};
      const auto outputs = sent.find(producer);
      const ChannelPosition taken = position_of_elements(elements);
      if (taken.elements > 0) ++counts.channels;
      RETURN_IF_ERROR(compare_channel(graph, edge, consumer.attempt, producer,
                                      outputs == sent.end() ? nullptr : &outputs->second, taken));
      const ChannelPosition by_gate = position_of(input.positions, index_of_producer);
      if (input.positions.empty()) continue;  // It died before it released the gate.
      if (by_gate.elements != taken.elements || by_gate.hash != taken.hash) {
        return data_loss("task " + to_string(consumer.attempt) + ": its gate counts " +
                         std::to_string(by_gate.elements) + " elements of producer " +
                         std::to_string(index_of_producer) + ", or hashes them otherwise; " +
                         std::to_string(taken.elements) + " were taken");
      }
    }
  }
  return Status();
}

}  // namespace

Result<ReplayCounts> repeat_all(const std::vector<const TaskRecording*>& recordings,
                                const JobGraph& graph, std::shared_ptr<const BuiltJob> built,
                                FileSystem& files) {
  ReplayCounts counts;
  std::map<AttemptId, Outputs> sent;
  for (const TaskRecording* recording : recordings) {
    ASSIGN_OR_RETURN(RepeatedTask task, repeat_recording(*recording, graph, built, files));
    counts.files += recording->files.size();
    ++counts.attempts;
    if (!sent.emplace(recording->attempt, std::move(task.outputs)).second) {
      return data_loss("task " + to_string(recording->attempt) + " ran twice");
    }
  }
  for (const TaskRecording* recording : recordings) {
    RETURN_IF_ERROR(compare_inputs(*recording, graph, sent, counts));
  }
  return counts;
}

}  // namespace freshet::sim
