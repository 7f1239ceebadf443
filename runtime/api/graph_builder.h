#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/graph/job_module.h"
#include "runtime/graph/logical_graph.h"
#include "runtime/operators/batch_aggregate.h"
#include "runtime/operators/operator.h"

namespace freshet {

/// One output of one operator, and how what comes next gets its records.
struct StreamEnd {
  uint32_t from = 0;
  uint32_t output = 0;
  std::optional<Partitioning>
      partitioning{};  // None: forward when the parallelisms are equal, otherwise rebalance.
  std::shared_ptr<const EdgeType> type{};  // Null: that of the operator that gets the records.
  std::optional<Exchange> exchange{};      // None: as the job's mode has it.
};

/// Collects what a job's builder writes: the untyped half of DataStream. Throws UsageError when it
/// is used wrongly.
class GraphBuilder {
 public:
  /// `options` outlives it.
  GraphBuilder(std::string name, const BuildOptions& options);

  /// Returns the operator's index.
  uint32_t add(LogicalOperator, std::shared_ptr<const OperatorFactory>);

  /// Enumerator, reader and the edges between them; returns the reader's index.
  uint32_t add_source(LogicalOperator reader, std::shared_ptr<const OperatorFactory> reader_factory,
                      std::shared_ptr<const OperatorFactory> enumerator, uint32_t parallelism_max);

  /// Several ends make a union.
  void connect(const std::vector<StreamEnd>& from, uint32_t to, uint32_t input,
               const std::shared_ptr<const EdgeType>&);

  /// What an operator with one keyed input is in a batch job; otherwise it is as it was added.
  void set_batch(uint32_t index, BatchAggregate);

  void set_name(uint32_t index, std::string name);
  void set_uid(uint32_t index, std::string uid);
  void set_parallelism(uint32_t index, uint32_t parallelism);
  void set_max_parallelism(uint32_t index, uint32_t max_parallelism);
  void set_slot_sharing_group(uint32_t index, std::string group);
  void set_chaining(uint32_t index, Chaining);
  void set_blocking(uint32_t index, bool blocking);
  void set_buffer_timeout(uint32_t index, Duration);

  void set_job_name(std::string name) { job_name_ = std::move(name); }
  void set_job_parallelism(uint32_t parallelism);
  void set_job_buffer_timeout(Duration);
  void disable_job_chaining() { chaining_ = false; }

  uint32_t job_parallelism() const { return parallelism_; }
  const BuildOptions& options() const { return options_; }

  /// Resolves parallelism, partitioning and settings, and gives ids. The builder is empty
  /// afterwards.
  Result<std::shared_ptr<const BuiltJob>> finish();

 private:
  struct Node {
    LogicalOperator logical{};
    std::shared_ptr<const OperatorFactory> factory{};
    std::optional<uint64_t> buffer_timeout_ms{};  // Of its outputs.
    uint32_t parallelism_max = 0;                 // 0: any.
    std::optional<uint32_t> enumerator{};         // Of a reader.
    std::optional<BatchAggregate> batch{};
  };
  struct Edge {
    StreamEnd from{};
    uint32_t to = 0;
    uint32_t input = 0;
    bool feedback = false;
    std::shared_ptr<const EdgeType> type{};
  };

  bool is_batch() const;
  void check_edge_types() const;
  void resolve_operators();
  void remove_feedback();
  void place_batch_aggregates();
  void split_aggregate(uint32_t index);
  bool can_split(uint32_t index) const;
  uint32_t add_before(const Edge& edge, const BatchAggregate&);
  LogicalEdge resolve_edge(const Edge&) const;

  const BuildOptions& options_;
  std::string job_name_;
  uint32_t parallelism_;
  bool chaining_ = true;
  std::optional<uint64_t> buffer_timeout_ms_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
};

}  // namespace freshet
