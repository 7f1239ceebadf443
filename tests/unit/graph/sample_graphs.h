#pragma once

#include <string>
#include <utility>

#include "runtime/base/random.h"
#include "runtime/graph/job_graph.h"

namespace freshet {

/// Logical graphs for tests, with ids. Operators are named by their index unless told.
class GraphSketch {
 public:
  /// Enumerator and reader; returns the reader.
  uint32_t source(uint32_t parallelism = 0) {
    LogicalOperator splits;
    splits.coordinator = true;
    const uint32_t enumerator = add(splits);
    LogicalOperator reader;
    reader.source = true;
    reader.outputs = 2;
    reader.parallelism = parallelism;
    const uint32_t index = add(reader);
    edge(enumerator, index, Partitioning::kDirect);
    edge(index, enumerator, Partitioning::kGlobal);
    graph.edges.back().from_output = 1;
    graph.edges.back().feedback = true;
    return index;
  }

  uint32_t add(LogicalOperator one) {
    if (one.name.empty()) one.name = "operator-" + std::to_string(graph.operators.size());
    graph.operators.push_back(std::move(one));
    return static_cast<uint32_t>(graph.operators.size()) - 1;
  }

  uint32_t map(uint32_t from, Partitioning partitioning = Partitioning::kForward,
               uint32_t parallelism = 0) {
    LogicalOperator one;
    one.parallelism = parallelism;
    one.keyed = partitioning == Partitioning::kHash;
    const uint32_t index = add(one);
    edge(from, index, partitioning);
    return index;
  }

  uint32_t sink(uint32_t from, Partitioning partitioning = Partitioning::kForward,
                uint32_t parallelism = 0) {
    const uint32_t index = map(from, partitioning, parallelism);
    graph.operators[index].sink = true;
    graph.operators[index].keyed = false;
    graph.operators[index].outputs = 0;
    return index;
  }

  void edge(uint32_t from, uint32_t to, Partitioning partitioning = Partitioning::kForward) {
    LogicalEdge one;
    one.from = from;
    one.to = to;
    one.partitioning = partitioning;
    one.type_fingerprint = "i64";
    graph.edges.push_back(one);
  }

  LogicalOperator& at(uint32_t index) { return graph.operators[index]; }

  LogicalGraph graph;
};

/// A valid graph of up to 20 operators: sources, chains, fans, unions, keyed operators, mixed
/// parallelisms.
inline LogicalGraph random_graph(uint64_t seed) {
  const auto random = make_seeded_random(seed);
  GraphSketch sketch;
  std::vector<uint32_t> streams;
  const auto parallelism = [&](uint32_t index) {
    const uint32_t own = sketch.at(index).parallelism;
    return own == 0 ? 4u : own;
  };
  const auto some_parallelism = [&] {
    return random->one_in(2) ? 0u : 1 + (uint32_t)random->below(5);
  };
  for (uint64_t i = 0; i < 1 + random->below(2); i++)
    streams.push_back(sketch.source(some_parallelism()));
  const auto connect = [&](uint32_t from, uint32_t to) {
    const bool equal = parallelism(from) == parallelism(to);
    const Partitioning choices[] = {Partitioning::kForward, Partitioning::kRebalance,
                                    Partitioning::kRescale, Partitioning::kBroadcast};
    Partitioning partitioning = choices[random->below(4)];
    if (!equal && partitioning == Partitioning::kForward) partitioning = Partitioning::kRescale;
    if (sketch.at(to).keyed) partitioning = Partitioning::kHash;
    sketch.edge(from, to, partitioning);
  };
  for (uint64_t i = 0; i < random->below(12); i++) {
    LogicalOperator one;
    one.parallelism = some_parallelism();
    one.keyed = random->one_in(4);
    one.blocking = random->one_in(8);
    if (random->one_in(6)) one.chaining = random->one_in(2) ? Chaining::kHead : Chaining::kNever;
    if (random->one_in(6)) one.slot_sharing_group = "other";
    if (random->one_in(4)) one.uid = "uid-" + std::to_string(i);
    const uint32_t index = sketch.add(one);
    for (uint64_t k = 0; k < 1 + random->below(2); k++)
      connect(streams[random->below(streams.size())], index);
    streams.push_back(index);
  }
  for (const uint32_t stream : streams) {
    LogicalOperator sink;
    sink.sink = true;
    sink.outputs = 0;
    sink.parallelism = some_parallelism();
    connect(stream, sketch.add(sink));
  }
  return sketch.graph;
}

}  // namespace freshet
