#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/base/configuration.h"
#include "taskmanager/task_builder.h"

namespace freshet {

namespace {

uint64_t collectors_of(const JobVertex& vertex, const BuiltJob& built) {
  uint64_t count = 0;
  for (const ChainedOperator& chained : vertex.operators) {
    const auto factory = built.operator_factory(chained.id);
    count += factory != nullptr && factory->uses_spill_space();
  }
  return count;
}

/// The vertices that pipelined edges join to `vertex`: others do not run while it does.
std::vector<bool> running_with(const JobGraph& graph, VertexId vertex) {
  std::vector<bool> reached(graph.vertices.size());
  reached[vertex.value] = true;
  for (bool more = true; more;) {
    more = false;
    for (const JobEdge& edge : graph.edges) {
      if (edge.exchange == Exchange::kBlocking ||
          reached[edge.producer.value] == reached[edge.consumer.value])
        continue;
      reached[edge.producer.value] = reached[edge.consumer.value] = more = true;
    }
  }
  return reached;
}

}  // namespace

Result<OperatorMemory> operator_memory(const JobGraph& graph, const BuiltJob& built,
                                       VertexId vertex, uint32_t slots,
                                       const ManagedMemory& managed) {
  OperatorMemory memory{SpillSpace::kLeastMemoryBytes, managed.compresses, managed.directories};
  const JobVertex& own = graph.vertices[vertex.value];
  if (graph.mode != RuntimeMode::kBatch || collectors_of(own, built) == 0) return memory;
  const std::vector<bool> running = running_with(graph, vertex);
  uint64_t collectors = 0;
  for (const JobVertex& other : graph.vertices) {
    if (running[other.id.value] && other.slot_sharing_group == own.slot_sharing_group)
      collectors += collectors_of(other, built);
  }
  memory.bytes = managed.bytes / slots / collectors;
  if (memory.bytes >= SpillSpace::kLeastMemoryBytes) return memory;
  return invalid_argument(fmt::format(
      "{} is too little: of its {} bytes each of {} slots has a part for {} operators that sort or "
      "aggregate, which need {} bytes each; set it to at least {} mb, or offer fewer slots",
      config::kManagedMemory.name, managed.bytes, slots, collectors, SpillSpace::kLeastMemoryBytes,
      (SpillSpace::kLeastMemoryBytes * slots * collectors) >> 20));
}

}  // namespace freshet
