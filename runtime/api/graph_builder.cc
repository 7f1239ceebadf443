#include "runtime/api/graph_builder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/api/usage_error.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/operators/split_edges.h"

namespace freshet {
namespace {

class FinishedJob final : public BuiltJob {
 public:
  using EdgeKey = std::tuple<OperatorId, uint32_t, OperatorId, uint32_t>;

  FinishedJob(std::string name, LogicalGraph graph)
      : name_(std::move(name)), graph_(std::move(graph)) {}

  void add_factory(OperatorId id, std::shared_ptr<const OperatorFactory> factory) {
    factories_.emplace(id, std::move(factory));
  }
  void add_edge(const EdgeKey& key, std::shared_ptr<const EdgeType> type) {
    edges_.emplace(key, std::move(type));
  }

  const std::string& name() const override { return name_; }
  const LogicalGraph& graph() const override { return graph_; }

  std::shared_ptr<const OperatorFactory> operator_factory(OperatorId id) const override {
    const auto at = factories_.find(id);
    return at == factories_.end() ? nullptr : at->second;
  }

  std::shared_ptr<const EdgeType> edge_type(OperatorId source, uint32_t output, OperatorId target,
                                            uint32_t input) const override {
    const auto at = edges_.find({source, output, target, input});
    return at == edges_.end() ? nullptr : at->second;
  }

 private:
  const std::string name_;
  const LogicalGraph graph_;
  std::map<OperatorId, std::shared_ptr<const OperatorFactory>> factories_;
  std::map<EdgeKey, std::shared_ptr<const EdgeType>> edges_;
};

uint64_t to_timeout_ms(const std::string& what, Duration duration) {
  const Result<uint64_t> timeout = buffer_timeout_ms_of(duration);
  if (!timeout.ok()) throw UsageError(what + ": " + timeout.status().message());
  return *timeout;
}

void check_group(const std::string& name, const std::string& group) {
  if (group.empty()) {
    throw UsageError("the slot sharing group of '" + name +
                     "' cannot be empty; leave it out to have that of its inputs, or write "
                     "\"default\"");
  }
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, const BuildOptions& options)
    : options_(options), job_name_(std::move(name)), parallelism_(options.parallelism) {}

uint32_t GraphBuilder::add(LogicalOperator logical,
                           std::shared_ptr<const OperatorFactory> factory) {
  if (factory == nullptr) {
    throw UsageError("operator '" + logical.name + "' has no code: its source or sink is empty");
  }
  logical.owned = factory->owned();
  logical.publication = factory->publication();
  const auto index = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.logical = std::move(logical), .factory = std::move(factory)});
  return index;
}

uint32_t GraphBuilder::add_source(LogicalOperator reader,
                                  std::shared_ptr<const OperatorFactory> reader_factory,
                                  std::shared_ptr<const OperatorFactory> enumerator,
                                  uint32_t parallelism_max) {
  LogicalOperator coordinator;
  coordinator.name = reader.name + " splits";
  coordinator.parallelism = 1;
  coordinator.coordinator = true;
  coordinator.bounded = reader.bounded;
  const uint32_t splits = add(std::move(coordinator), std::move(enumerator));
  reader.source = true;
  reader.outputs = 2;
  const uint32_t index = add(std::move(reader), std::move(reader_factory));
  nodes_[index].enumerator = splits;
  nodes_[index].parallelism_max = parallelism_max;
  // Splits and requests are rare and waited for: they are never held back.
  nodes_[splits].buffer_timeout_ms = 0;
  edges_.push_back(
      {.from = {splits, 0, Partitioning::kDirect}, .to = index, .type = make_split_edge()});
  edges_.push_back({.from = {index, 1, Partitioning::kGlobal},
                    .to = splits,
                    .feedback = true,
                    .type = make_split_request_edge()});
  return index;
}

void GraphBuilder::connect(const std::vector<StreamEnd>& from, uint32_t to, uint32_t input,
                           const std::shared_ptr<const EdgeType>& type) {
  for (const StreamEnd& end : from) {
    edges_.push_back(
        {.from = end, .to = to, .input = input, .type = end.type == nullptr ? type : end.type});
  }
}

void GraphBuilder::set_batch(uint32_t index, BatchAggregate aggregate) {
  nodes_.at(index).batch = std::move(aggregate);
}

void GraphBuilder::set_name(uint32_t index, std::string name) {
  Node& node = nodes_.at(index);
  if (name.empty()) throw UsageError("the name of '" + node.logical.name + "' cannot be empty");
  if (node.enumerator) nodes_[*node.enumerator].logical.name = name + " splits";
  node.logical.name = std::move(name);
}

void GraphBuilder::set_uid(uint32_t index, std::string uid) {
  Node& node = nodes_.at(index);
  if (uid.empty()) throw UsageError("the uid of '" + node.logical.name + "' cannot be empty");
  if (node.enumerator) nodes_[*node.enumerator].logical.uid = uid + "/splits";
  node.logical.uid = std::move(uid);
}

void GraphBuilder::set_parallelism(uint32_t index, uint32_t parallelism) {
  Node& node = nodes_.at(index);
  if (parallelism == 0) {
    throw UsageError("the parallelism of '" + node.logical.name + "' must be at least 1");
  }
  if (node.parallelism_max != 0 && parallelism > node.parallelism_max) {
    throw UsageError("the parallelism of '" + node.logical.name + "' can be at most " +
                     std::to_string(node.parallelism_max));
  }
  node.logical.parallelism = parallelism;
}

void GraphBuilder::set_max_parallelism(uint32_t index, uint32_t max_parallelism) {
  Node& node = nodes_.at(index);
  if (max_parallelism == 0) {
    throw UsageError("the maximum parallelism of '" + node.logical.name + "' must be at least 1");
  }
  node.logical.max_parallelism = max_parallelism;
}

void GraphBuilder::set_slot_sharing_group(uint32_t index, std::string group) {
  Node& node = nodes_.at(index);
  check_group(node.logical.name, group);
  if (node.enumerator) nodes_[*node.enumerator].logical.slot_sharing_group = group;
  node.logical.slot_sharing_group = std::move(group);
}

void GraphBuilder::set_chaining(uint32_t index, Chaining chaining) {
  nodes_.at(index).logical.chaining = chaining;
}

void GraphBuilder::set_blocking(uint32_t index, bool blocking) {
  nodes_.at(index).logical.blocking = blocking;
}

void GraphBuilder::set_buffer_timeout(uint32_t index, Duration timeout) {
  Node& node = nodes_.at(index);
  if (node.logical.outputs == 0) {
    throw UsageError("operator '" + node.logical.name +
                     "' is a sink and has no output that a buffer timeout could be of; set it for "
                     "the operator before");
  }
  node.buffer_timeout_ms = to_timeout_ms("operator '" + node.logical.name + "'", timeout);
}

void GraphBuilder::set_job_parallelism(uint32_t parallelism) {
  if (parallelism == 0) throw UsageError("the parallelism of a job must be at least 1");
  parallelism_ = parallelism;
}

void GraphBuilder::set_job_buffer_timeout(Duration timeout) {
  buffer_timeout_ms_ = to_timeout_ms("the job", timeout);
}

bool GraphBuilder::is_batch() const {
  const bool bounded = std::all_of(nodes_.begin(), nodes_.end(),
                                   [](const Node& node) { return node.logical.bounded; });
  return options_.mode == RuntimeMode::kBatch ||
         (options_.mode == RuntimeMode::kAutomatic && bounded);
}

void GraphBuilder::resolve_operators() {
  for (Node& node : nodes_) {
    LogicalOperator& logical = node.logical;
    if (logical.parallelism == 0) {
      logical.parallelism =
          node.parallelism_max == 0 ? parallelism_ : std::min(parallelism_, node.parallelism_max);
    }
    if (!chaining_) logical.chaining = Chaining::kNever;
  }
}

LogicalEdge GraphBuilder::resolve_edge(const Edge& edge) const {
  const Node& from = nodes_[edge.from.from];
  const Node& to = nodes_[edge.to];
  const Partitioning automatic = from.logical.parallelism == to.logical.parallelism
                                     ? Partitioning::kForward
                                     : Partitioning::kRebalance;
  LogicalEdge resolved;
  resolved.from = edge.from.from;
  resolved.from_output = edge.from.output;
  resolved.to = edge.to;
  resolved.to_input = edge.input;
  resolved.partitioning = edge.from.partitioning.value_or(automatic);
  resolved.feedback = edge.feedback;
  resolved.exchange = edge.from.exchange;
  resolved.type_fingerprint = edge.type->fingerprint();
  resolved.buffer_timeout_ms = from.buffer_timeout_ms ? from.buffer_timeout_ms : buffer_timeout_ms_;
  if (edge.feedback) resolved.buffer_timeout_ms = 0;
  return resolved;
}

/// The type of an edge is found by its ends, so several between the same ends must be of one type.
void GraphBuilder::check_edge_types() const {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, const Edge*> first;
  for (const Edge& edge : edges_) {
    const auto [other, is_new] =
        first.emplace(std::tuple(edge.from.from, edge.from.output, edge.to, edge.input), &edge);
    if (is_new || (edge.from.type == nullptr && other->second->from.type == nullptr)) continue;
    throw UsageError("operator '" + nodes_[edge.to].logical.name + "' gets the records of '" +
                     nodes_[edge.from.from].logical.name +
                     "' several times, once by partition_custom(); put a map() between them");
  }
}

/// Readers do not run while splits are given.
void GraphBuilder::remove_feedback() {
  std::erase_if(edges_, [](const Edge& edge) { return edge.feedback; });
  for (Node& node : nodes_) {
    if (node.logical.coordinator) node.logical.inputs = 0;
  }
}

/// Whether a part before the exchange would be chained to whatever feeds the operator.
bool GraphBuilder::can_split(uint32_t index) const {
  return std::all_of(edges_.begin(), edges_.end(), [&](const Edge& edge) {
    return edge.to != index || (edge.from.partitioning == Partitioning::kHash &&
                                nodes_[edge.from.from].logical.chaining != Chaining::kNever);
  });
}

/// The part before the exchange, which runs in the tasks of the operator that it follows.
uint32_t GraphBuilder::add_before(const Edge& edge, const BatchAggregate& aggregate) {
  const LogicalOperator& from = nodes_[edge.from.from].logical;
  LogicalOperator logical;
  logical.name = "pre-" + nodes_[edge.to].logical.name;
  logical.parallelism = from.parallelism;
  logical.max_parallelism = from.max_parallelism;
  logical.blocking = from.blocking;
  logical.slot_sharing_group = from.slot_sharing_group;
  const std::optional<uint64_t> timeout = nodes_[edge.from.from].buffer_timeout_ms;
  const uint32_t index = add(std::move(logical), aggregate.before);
  nodes_[index].buffer_timeout_ms = timeout;
  return index;
}

void GraphBuilder::split_aggregate(uint32_t index) {
  const BatchAggregate aggregate = *nodes_[index].batch;
  nodes_[index].factory = aggregate.behind;
  const size_t edges = edges_.size();
  for (size_t i = 0; i < edges; i++) {
    if (edges_[i].to != index) continue;
    const uint32_t before = add_before(edges_[i], aggregate);
    StreamEnd from = edges_[i].from;
    edges_[i].from.from = before;
    edges_[i].from.output = 0;
    edges_[i].type = aggregate.between;
    from.partitioning = Partitioning::kForward;
    from.exchange.reset();
    edges_.push_back({.from = from, .to = before, .type = aggregate.input});
  }
}

/// Where a job runs as a batch: results are final, and made in two parts where that is less work.
void GraphBuilder::place_batch_aggregates() {
  const auto nodes = static_cast<uint32_t>(nodes_.size());
  for (uint32_t i = 0; i < nodes; i++) {
    if (!nodes_[i].batch) continue;
    if (can_split(i)) {
      split_aggregate(i);
    } else {
      nodes_[i].factory = nodes_[i].batch->alone;
    }
  }
}

Result<std::shared_ptr<const BuiltJob>> GraphBuilder::finish() {
  check_edge_types();
  resolve_operators();
  if (is_batch()) {
    remove_feedback();
    place_batch_aggregates();
  }
  LogicalGraph graph;
  for (const Edge& edge : edges_) graph.edges.push_back(resolve_edge(edge));
  for (const Node& node : nodes_) graph.operators.push_back(node.logical);
  RETURN_IF_ERROR(assign_operator_ids(graph));
  const auto id_of = [&](uint32_t index) { return graph.operators[index].id; };
  auto job = std::make_shared<FinishedJob>(job_name_, graph);
  for (uint32_t i = 0; i < nodes_.size(); i++) job->add_factory(id_of(i), nodes_[i].factory);
  for (const Edge& edge : edges_) {
    job->add_edge({id_of(edge.from.from), edge.from.output, id_of(edge.to), edge.input}, edge.type);
  }
  nodes_.clear();
  edges_.clear();
  return std::shared_ptr<const BuiltJob>(std::move(job));
}

}  // namespace freshet
