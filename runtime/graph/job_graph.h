#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/graph/logical_graph.h"
#include "runtime/graph/runtime_mode.h"

namespace freshet {

namespace proto {
class JobGraphProto;
}

/// Where one output of an operator goes inside its task: to a chained operator or to an edge.
struct ChainedOutput {
  uint32_t output = 0;
  bool chained = false;
  uint32_t chained_operator = 0;  // Index in JobVertex::operators, when chained.
  uint32_t input = 0;             // Of that operator.
  DatasetId dataset;              // Otherwise.
  bool operator==(const ChainedOutput&) const = default;
};

struct ChainedOperator {
  OperatorId id;
  std::string name;
  std::string uid;
  bool source = false;
  bool sink = false;
  std::vector<ChainedOutput> outputs;
  bool operator==(const ChainedOperator&) const = default;
};

/// Operators that run in one task: the unit of deployment. `operators[0]` is the head and alone has
/// input edges.
struct JobVertex {
  VertexId id;
  std::vector<ChainedOperator> operators;
  uint32_t parallelism = 1;
  uint32_t max_parallelism = 128;
  std::string slot_sharing_group;
  bool blocking = false;
  bool hidden = false;

  /// `source -> split -> filter`.
  std::string name() const;
  bool operator==(const JobVertex&) const = default;
};

/// What one vertex gives another: one dataset, consumed by one vertex.
struct JobEdge {
  DatasetId id;
  VertexId producer;
  VertexId consumer;
  uint32_t input = 0;  // Of the consumer's head. Several edges may feed one input: a union.
  Partitioning partitioning = Partitioning::kForward;
  Exchange exchange = Exchange::kPipelined;
  bool feedback = false;
  std::string type_fingerprint;
  uint64_t buffer_timeout_ms = 100;  // See buffer_timeout.h.
  OperatorId
      source_operator;  // With source_output: where codec and key selector are found in the module.
  uint32_t source_output = 0;
  OperatorId target_operator;
  bool operator==(const JobEdge&) const = default;
};

/// The dataflow as it is submitted, deployed and shown. Values copy.
struct JobGraph {
  std::vector<JobVertex> vertices;             // Topological order, feedback edges aside.
  std::vector<JobEdge> edges;                  // Index = DatasetId.
  RuntimeMode mode = RuntimeMode::kStreaming;  // Or kBatch.

  /// Edges into and out of a vertex, in the order of their ids.
  std::vector<DatasetId> inputs_of(VertexId) const;
  std::vector<DatasetId> outputs_of(VertexId) const;
  bool operator==(const JobGraph&) const = default;
};

struct JobGraphOptions {
  uint32_t parallelism = 1;  // Of operators that name none.
  RuntimeMode mode = RuntimeMode::kStreaming;
  uint64_t buffer_timeout_ms = 100;
  bool chaining = true;
};

/// Chains operators and orders vertices. Refuses, naming the operator: no sink, a cycle, a forward
/// edge between different parallelisms, parallelism 0 or above the maximum, keyed input that is not
/// hash-partitioned, a buffer timeout of more than a day, a source without end in batch mode.
/// Chained: forward edge, equal parallelism, maximum parallelism and slot sharing group, one input
/// edge, chaining allowed, neither end hidden or blocking apart. An operator without a slot sharing
/// group has that of its inputs when they agree, else "default".
Result<JobGraph> build_job_graph(const LogicalGraph&, const JobGraphOptions&);

/// For messages. `from_proto` checks everything that the runtime relies on, so that no message can
/// make it misbehave.
void to_proto(const JobGraph&, proto::JobGraphProto*);
Result<JobGraph> from_proto(const proto::JobGraphProto&);

/// Whether the operators, outputs, inputs and edges of a graph that came in a message are those
/// that the module built. Refuses what is not, naming it: code is only ever run with the inputs and
/// outputs that it was written for.
Status check_belongs_to(const JobGraph&, const LogicalGraph&);

/// Subpartitions and producers of a pointwise or all-to-all edge; products in 64 bits. See
/// control-plane formulas in DESIGN_NOTES.md, "Pointwise edges".
struct IndexRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t size() const { return end - begin; }
  bool operator==(const IndexRange&) const = default;
};
/// Producers that consumer `consumer` of `consumers` reads, of `producers`.
IndexRange producers_of_consumer(Partitioning, uint32_t consumer, uint32_t producers,
                                 uint32_t consumers);
/// Consumers that read producer `producer`.
IndexRange consumers_of_producer(Partitioning, uint32_t producer, uint32_t producers,
                                 uint32_t consumers);

}  // namespace freshet
