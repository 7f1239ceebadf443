#include "runtime/graph/logical_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/graph/topological_order.h"

namespace freshet {
namespace {

Status check_edges(const LogicalGraph& graph) {
  for (const LogicalEdge& edge : graph.edges) {
    if (edge.from >= graph.operators.size() || edge.to >= graph.operators.size()) {
      return invalid_argument("an edge of the dataflow names an operator that does not exist");
    }
  }
  return Status();
}

/// Gives the operators with uids their ids, and says which ids are taken.
Status assign_from_uids(LogicalGraph& graph, std::set<OperatorId>& taken) {
  std::map<std::string, const LogicalOperator*> owners;
  for (LogicalOperator& one : graph.operators) {
    if (one.uid.empty()) continue;
    const auto [owner, inserted] = owners.emplace(one.uid, &one);
    if (!inserted) {
      return invalid_argument("operators '" + owner->second->name + "' and '" + one.name +
                              "' have the same uid '" + one.uid + "'; give each its own");
    }
    one.id = OperatorId{hash_bytes("uid:" + one.uid)};
    if (one.id.value == 0 || !taken.insert(one.id).second) {
      return invalid_argument("the uid '" + one.uid + "' of operator '" + one.name +
                              "' cannot be used; choose another");
    }
  }
  return Status();
}

/// Neither names, nor parallelism, nor how records are spread: all these may change while the state
/// stays.
uint64_t shape_of(const LogicalGraph& graph, uint32_t index) {
  const LogicalOperator& one = graph.operators[index];
  uint64_t shape = hash_bytes("shape");
  for (const uint64_t part : {uint64_t{one.inputs}, uint64_t{one.outputs}, uint64_t{one.source},
                              uint64_t{one.sink}, uint64_t{one.keyed}, uint64_t{one.coordinator}}) {
    shape = hash_combine(shape, part);
  }
  std::vector<std::tuple<uint32_t, uint64_t, uint32_t>> inputs;
  for (const LogicalEdge& edge : graph.edges) {
    if (edge.to != index || edge.feedback) continue;
    inputs.emplace_back(edge.to_input, graph.operators[edge.from].id.value, edge.from_output);
  }
  std::sort(inputs.begin(), inputs.end());
  for (const auto& [input, id, output] : inputs) {
    shape = hash_combine(hash_combine(hash_combine(shape, input), id), output);
  }
  return shape;
}

uint64_t combine_text(uint64_t running, const std::string& text) {
  return hash_combine(running, hash_bytes(text));
}

}  // namespace

Status assign_operator_ids(LogicalGraph& graph) {
  RETURN_IF_ERROR(check_edges(graph));
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (const LogicalEdge& edge : graph.edges) {
    if (!edge.feedback) edges.emplace_back(edge.from, edge.to);
  }
  const auto size = static_cast<uint32_t>(graph.operators.size());
  const std::vector<uint32_t> order = topological_order(size, edges);
  if (order.size() != size) {
    std::vector<bool> seen(size, false);
    for (const uint32_t index : order) seen[index] = true;
    const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
    return invalid_argument("operator '" + graph.operators[static_cast<size_t>(missing)].name +
                            "' is on or behind a cycle of the dataflow; streams cannot be cyclic");
  }
  std::set<OperatorId> taken;
  RETURN_IF_ERROR(assign_from_uids(graph, taken));
  for (const uint32_t index : order) {
    LogicalOperator& one = graph.operators[index];
    if (!one.uid.empty()) continue;
    // Operators of one shape are told apart by their order.
    uint64_t id = shape_of(graph, index);
    while (id == 0 || !taken.insert(OperatorId{id}).second) id = hash_combine(id, 1);
    one.id = OperatorId{id};
  }
  return Status();
}

uint64_t fingerprint_of(const LogicalGraph& graph) {
  uint64_t running = hash_bytes("logical graph 1");
  running = hash_combine(running, graph.operators.size());
  for (const LogicalOperator& one : graph.operators) {
    running = combine_text(running, one.name);
    running = combine_text(running, one.uid);
    running = combine_text(running, one.slot_sharing_group);
    for (const uint64_t part :
         {uint64_t{one.max_parallelism}, uint64_t{one.inputs}, uint64_t{one.outputs},
          uint64_t{one.source}, uint64_t{one.bounded}, uint64_t{one.sink}, uint64_t{one.keyed},
          uint64_t{one.coordinator}, uint64_t{one.blocking}, static_cast<uint64_t>(one.chaining)}) {
      running = hash_combine(running, part);
    }
  }
  running = hash_combine(running, graph.edges.size());
  for (const LogicalEdge& edge : graph.edges) {
    running = combine_text(running, edge.type_fingerprint);
    for (const uint64_t part :
         {uint64_t{edge.from}, uint64_t{edge.from_output}, uint64_t{edge.to},
          uint64_t{edge.to_input}, static_cast<uint64_t>(edge.partitioning),
          uint64_t{edge.feedback},
          edge.exchange ? 1 + static_cast<uint64_t>(*edge.exchange) : uint64_t{0},
          uint64_t{edge.buffer_timeout_ms.has_value()}, edge.buffer_timeout_ms.value_or(0)}) {
      running = hash_combine(running, part);
    }
  }
  return running;
}

}  // namespace freshet
