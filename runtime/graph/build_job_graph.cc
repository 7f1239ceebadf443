#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/key_groups.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/text_rules.h"
#include "runtime/graph/topological_order.h"

namespace freshet {
namespace {

constexpr uint32_t kNone = ~0u;

/// As Flink: a power of two with room to grow, at least 128.
uint32_t default_max_parallelism(uint32_t parallelism) {
  const uint64_t roomy = std::bit_ceil(parallelism + (uint64_t{parallelism} + 1) / 2);
  const uint64_t bounded = std::clamp<uint64_t>(roomy, kDefaultMaxParallelism, kMaxKeyGroups);
  return parallelism <= bounded ? static_cast<uint32_t>(bounded) : kMaxStatelessParallelism;
}

std::string quoted(const LogicalOperator& one) { return "operator '" + one.name + "'"; }

/// One translation of a logical graph: its steps in the order of `run`.
class Builder {
 public:
  Builder(const LogicalGraph& graph, const JobGraphOptions& options)
      : graph_(graph), options_(options) {}

  Result<JobGraph> run() {
    RETURN_IF_ERROR(resolve_operators());
    RETURN_IF_ERROR(check_edges());
    RETURN_IF_ERROR(check_operators());
    RETURN_IF_ERROR(check_owned());
    RETURN_IF_ERROR(order_operators());
    result_.mode = resolved_mode();
    RETURN_IF_ERROR(check_blocking_edges());
    resolve_groups();
    chain();
    make_vertices();
    make_edges();
    return std::move(result_);
  }

 private:
  const LogicalOperator& at(uint32_t index) const { return graph_.operators[index]; }

  RuntimeMode resolved_mode() const;
  Status resolve_operators();
  Status check_texts(const LogicalOperator&) const;
  Status check_edge(const LogicalEdge&) const;
  Status check_edges();
  Status check_operators() const;
  Status check_owned() const;
  Status order_operators();
  Exchange exchange_of(const LogicalEdge&) const;
  Status check_blocking_edges() const;
  void resolve_groups();
  bool chainable(const LogicalEdge&) const;
  void chain();
  void make_vertices();
  void make_edges();

  const LogicalGraph& graph_;
  const JobGraphOptions& options_;
  std::vector<uint32_t> parallelism_;
  std::vector<uint32_t> max_parallelism_;
  std::vector<std::vector<uint32_t>> in_;  // Edges, by operator.
  std::vector<std::vector<uint32_t>> out_;
  std::vector<uint32_t> order_;
  std::vector<std::string> group_;  // By operator.
  std::vector<bool> edge_chained_;
  std::vector<uint32_t> head_;      // By operator: the head of its chain.
  std::vector<uint32_t> vertex_;    // By operator.
  std::vector<uint32_t> position_;  // By operator: its index in its vertex.
  JobGraph result_;
};

RuntimeMode Builder::resolved_mode() const {
  if (options_.mode != RuntimeMode::kAutomatic) return options_.mode;
  const bool bounded = std::ranges::all_of(
      graph_.operators, [](const LogicalOperator& one) { return !one.source || one.bounded; });
  return bounded ? RuntimeMode::kBatch : RuntimeMode::kStreaming;
}

Status Builder::check_texts(const LogicalOperator& one) const {
  if (one.name.empty()) return invalid_argument("an operator of the dataflow has no name");
  if (!is_plain_text(one.name)) {
    return invalid_argument(
        "the name of an operator is longer than 4096 bytes or not UTF-8; use another");
  }
  for (const auto& [what, text] :
       {std::pair{"uid", &one.uid}, std::pair{"slot sharing group", &one.slot_sharing_group}}) {
    if (is_plain_text(*text)) continue;
    return invalid_argument("the " + std::string(what) + " of " + quoted(one) +
                            " is longer than 4096 bytes or not UTF-8; use another");
  }
  return Status();
}

Status Builder::resolve_operators() {
  if (graph_.operators.empty()) {
    return invalid_argument("the job has no operators; start with env.from_source(...)");
  }
  for (const LogicalOperator& one : graph_.operators) {
    RETURN_IF_ERROR(check_texts(one));
    if (one.source && !one.bounded && options_.mode == RuntimeMode::kBatch) {
      return invalid_argument(quoted(one) +
                              " is a source without end, which batch mode cannot wait for; run the "
                              "job in streaming or automatic mode");
    }
    uint32_t parallelism = one.parallelism == 0 ? options_.parallelism : one.parallelism;
    if (one.coordinator) parallelism = 1;
    if (parallelism == 0) {
      return invalid_argument(quoted(one) +
                              " has parallelism 0; set one of at least 1 for it or for the job");
    }
    const uint32_t limit = one.keyed ? kMaxKeyGroups : kMaxStatelessParallelism;
    const uint32_t maximum =
        one.max_parallelism == 0 ? default_max_parallelism(parallelism) : one.max_parallelism;
    for (const auto& [what, number] : {std::pair{"parallelism", parallelism},
                                       std::pair{"maximum parallelism", one.max_parallelism}}) {
      if (number <= limit) continue;
      return invalid_argument(quoted(one) + " has " + what + " " + std::to_string(number) +
                              ", the most is " + std::to_string(limit) + "; set a lower one");
    }
    if (parallelism > maximum) {
      return invalid_argument(quoted(one) + " has parallelism " + std::to_string(parallelism) +
                              ", above its maximum of " + std::to_string(maximum) +
                              "; lower the first or raise the second");
    }
    parallelism_.push_back(parallelism);
    max_parallelism_.push_back(maximum);
  }
  return Status();
}

Status Builder::check_edge(const LogicalEdge& edge) const {
  const auto size = graph_.operators.size();
  if (edge.from >= size || edge.to >= size) {
    return invalid_argument("an edge of the dataflow names an operator that does not exist");
  }
  const LogicalOperator& from = at(edge.from);
  const LogicalOperator& to = at(edge.to);
  const std::string names = "the edge from '" + from.name + "' to '" + to.name + "'";
  if (edge.from_output >= from.outputs || edge.to_input >= to.inputs) {
    return invalid_argument(names + " uses an output or input that its operator does not have");
  }
  if (edge.feedback && (!to.coordinator || edge.from == edge.to)) {
    return invalid_argument(names + " goes back to an operator that is no split enumerator");
  }
  if (!is_plain_text(edge.type_fingerprint, kTypeFingerprintLengthMax)) {
    return invalid_argument(names + " has a type fingerprint that is too long or not UTF-8");
  }
  const uint64_t timeout = edge.buffer_timeout_ms.value_or(options_.buffer_timeout_ms);
  if (timeout > kBufferTimeoutMsMax && timeout != kNeverFlushedByTime) {
    return invalid_argument(names + " has a buffer timeout of " + std::to_string(timeout) +
                            " ms; allowed is 0 to " + std::to_string(kBufferTimeoutMsMax) +
                            " ms, or none");
  }
  const uint32_t producers = parallelism_[edge.from];
  const uint32_t consumers = parallelism_[edge.to];
  if (edge.partitioning == Partitioning::kForward && producers != consumers) {
    return invalid_argument(names + " is a forward edge, but the parallelisms differ (" +
                            std::to_string(producers) + " and " + std::to_string(consumers) +
                            "); make them equal, or use rebalance() or rescale()");
  }
  if (edge.partitioning == Partitioning::kHash && max_parallelism_[edge.to] > kMaxKeyGroups) {
    return invalid_argument(quoted(to) + " is spread by key and has maximum parallelism " +
                            std::to_string(max_parallelism_[edge.to]) + "; the most is " +
                            std::to_string(kMaxKeyGroups));
  }
  if (to.keyed && edge.to_input == 0 && edge.partitioning != Partitioning::kHash) {
    return invalid_argument(quoted(to) + " keeps state by key but '" + from.name +
                            "' does not spread its records by key; use key_by()");
  }
  return Status();
}

Status Builder::check_edges() {
  in_.resize(graph_.operators.size());
  out_.resize(graph_.operators.size());
  for (uint32_t index = 0; index < graph_.edges.size(); index++) {
    const LogicalEdge& edge = graph_.edges[index];
    RETURN_IF_ERROR(check_edge(edge));
    in_[edge.to].push_back(index);
    out_[edge.from].push_back(index);
  }
  return Status();
}

Status Builder::check_operators() const {
  for (uint32_t index = 0; index < graph_.operators.size(); index++) {
    const LogicalOperator& one = at(index);
    if (one.inputs > graph_.edges.size()) {
      return invalid_argument("an input of " + quoted(one) + " is not connected");
    }
    std::vector<bool> connected(one.inputs, false);
    for (const uint32_t edge : in_[index]) connected[graph_.edges[edge].to_input] = true;
    if (std::find(connected.begin(), connected.end(), false) != connected.end() ||
        (one.inputs == 0 && !one.source && !one.coordinator)) {
      return invalid_argument("an input of " + quoted(one) + " is not connected");
    }
    const bool gives = std::any_of(out_[index].begin(), out_[index].end(),
                                   [&](uint32_t edge) { return !graph_.edges[edge].feedback; });
    if (!one.sink && !gives) {
      return invalid_argument("the records of " + quoted(one) +
                              " go nowhere: there is no sink behind it; add .sink_to(...)");
    }
  }
  return Status();
}

Status Builder::check_owned() const {
  std::map<std::string, const LogicalOperator*> owners;
  for (const LogicalOperator& one : graph_.operators) {
    if (one.owned.empty()) continue;
    const auto [owner, inserted] = owners.emplace(one.owned, &one);
    if (inserted) continue;
    return invalid_argument("operators '" + owner->second->name + "' and '" + one.name +
                            "' both want " + one.owned + "; give each its own");
  }
  return Status();
}

Status Builder::order_operators() {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (const LogicalEdge& edge : graph_.edges) {
    if (!edge.feedback) edges.emplace_back(edge.from, edge.to);
  }
  const auto size = static_cast<uint32_t>(graph_.operators.size());
  order_ = topological_order(size, edges);
  std::vector<uint32_t> place(size, size);
  for (uint32_t i = 0; i < order_.size(); i++) place[order_[i]] = i;
  for (uint32_t index = 0; index < size; index++) {
    if (place[index] != size) continue;
    return invalid_argument(quoted(at(index)) +
                            " is on or behind a cycle of the dataflow; streams cannot be cyclic");
  }
  for (const LogicalEdge& edge : graph_.edges) {
    if (!edge.feedback) continue;
    // A direct edge from a coordinator also makes its reader the head of a chain, which keeps
    // vertices in order.
    const auto& back = in_[edge.from];
    if (std::none_of(back.begin(), back.end(), [&](uint32_t one) {
          return graph_.edges[one].from == edge.to && !graph_.edges[one].feedback;
        })) {
      return invalid_argument("the feedback edge from '" + at(edge.from).name + "' to '" +
                              at(edge.to).name + "' does not go back");
    }
  }
  return Status();
}

void Builder::resolve_groups() {
  group_.resize(graph_.operators.size());
  for (const uint32_t index : order_) {
    std::set<std::string> groups;
    if (!at(index).slot_sharing_group.empty()) {
      groups.insert(at(index).slot_sharing_group);
    } else {
      for (const uint32_t edge : in_[index]) {
        if (!graph_.edges[edge].feedback) groups.insert(group_[graph_.edges[edge].from]);
      }
    }
    group_[index] = groups.size() == 1 ? *groups.begin() : kDefaultSlotSharingGroup;
  }
}

/// Where records change their subtask a batch job goes through files.
Exchange Builder::exchange_of(const LogicalEdge& edge) const {
  if (edge.feedback) return Exchange::kPipelined;
  const bool batch = result_.mode == RuntimeMode::kBatch;
  // Without questions of its readers it gives all splits before they start.
  if (at(edge.from).coordinator)
    return batch && in_[edge.from].empty() ? Exchange::kBlocking : Exchange::kPipelined;
  if (edge.exchange) return *edge.exchange;
  return batch && edge.partitioning != Partitioning::kForward ? Exchange::kBlocking
                                                              : Exchange::kPipelined;
}

/// What has no end is never complete.
Status Builder::check_blocking_edges() const {
  std::vector<uint32_t> endless(graph_.operators.size(), kNone);  // A source before it.
  for (const uint32_t index : order_) {
    if (at(index).source && !at(index).bounded) endless[index] = index;
    for (const uint32_t edge : in_[index]) {
      const LogicalEdge& one = graph_.edges[edge];
      if (one.feedback || endless[one.from] == kNone) continue;
      if (exchange_of(one) == Exchange::kBlocking) {
        return invalid_argument(fmt::format(
            "the blocking exchange from '{}' to '{}' is behind source '{}', which has no end; use "
            "a pipelined one",
            at(one.from).name, at(index).name, at(endless[one.from]).name));
      }
      endless[index] = endless[one.from];
    }
  }
  return Status();
}

bool Builder::chainable(const LogicalEdge& edge) const {
  const LogicalOperator& from = at(edge.from);
  const LogicalOperator& to = at(edge.to);
  return options_.chaining && edge.partitioning == Partitioning::kForward && !edge.feedback &&
         exchange_of(edge) == Exchange::kPipelined && in_[edge.to].size() == 1 && to.inputs == 1 &&
         !to.source && !from.coordinator && !to.coordinator && from.blocking == to.blocking &&
         from.chaining != Chaining::kNever && to.chaining == Chaining::kAlways &&
         parallelism_[edge.from] == parallelism_[edge.to] &&
         (to.max_parallelism == 0 || to.max_parallelism == max_parallelism_[head_[edge.from]]) &&
         group_[edge.from] == group_[edge.to];
}

void Builder::chain() {
  edge_chained_.assign(graph_.edges.size(), false);
  head_.resize(graph_.operators.size());
  for (const uint32_t index : order_) {
    head_[index] = index;
    if (in_[index].size() != 1) continue;
    const uint32_t edge = in_[index].front();
    if (!chainable(graph_.edges[edge])) continue;
    edge_chained_[edge] = true;
    head_[index] = head_[graph_.edges[edge].from];
  }
}

void Builder::make_vertices() {
  vertex_.resize(graph_.operators.size());
  position_.resize(graph_.operators.size());
  // All input edges of a chain come in at its head, so the order of the heads is an order of the
  // chains.
  for (const uint32_t index : order_) {
    const LogicalOperator& one = at(index);
    if (head_[index] == index) {
      vertex_[index] = static_cast<uint32_t>(result_.vertices.size());
      JobVertex vertex;
      vertex.id = VertexId{vertex_[index]};
      vertex.parallelism = parallelism_[index];
      vertex.max_parallelism = max_parallelism_[index];
      vertex.slot_sharing_group = group_[index];
      vertex.blocking = one.blocking;
      vertex.hidden = one.coordinator;
      result_.vertices.push_back(std::move(vertex));
    }
    vertex_[index] = vertex_[head_[index]];
    JobVertex& vertex = result_.vertices[vertex_[index]];
    position_[index] = static_cast<uint32_t>(vertex.operators.size());
    vertex.operators.push_back(ChainedOperator{.id = one.id,
                                               .name = one.name,
                                               .uid = one.uid,
                                               .source = one.source,
                                               .sink = one.sink,
                                               .outputs = {}});
  }
}

void Builder::make_edges() {
  for (uint32_t index = 0; index < graph_.edges.size(); index++) {
    const LogicalEdge& edge = graph_.edges[index];
    ChainedOutput output;
    output.output = edge.from_output;
    if (edge_chained_[index]) {
      output.chained = true;
      output.chained_operator = position_[edge.to];
      output.input = edge.to_input;
    } else {
      output.dataset = DatasetId{static_cast<uint32_t>(result_.edges.size())};
      JobEdge job_edge;
      job_edge.id = output.dataset;
      job_edge.producer = VertexId{vertex_[edge.from]};
      job_edge.consumer = VertexId{vertex_[edge.to]};
      job_edge.input = edge.to_input;
      job_edge.partitioning = edge.partitioning;
      job_edge.exchange = exchange_of(edge);
      job_edge.feedback = edge.feedback;
      job_edge.type_fingerprint = edge.type_fingerprint;
      job_edge.buffer_timeout_ms = edge.buffer_timeout_ms.value_or(options_.buffer_timeout_ms);
      job_edge.source_operator = at(edge.from).id;
      job_edge.source_output = edge.from_output;
      job_edge.target_operator = at(edge.to).id;
      result_.edges.push_back(std::move(job_edge));
    }
    result_.vertices[vertex_[edge.from]].operators[position_[edge.from]].outputs.push_back(output);
  }
}

}  // namespace

Result<JobGraph> build_job_graph(const LogicalGraph& graph, const JobGraphOptions& options) {
  return Builder(graph, options).run();
}

}  // namespace freshet
