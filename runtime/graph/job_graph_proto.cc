#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/base/key_groups.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/text_rules.h"
#include "runtime/proto/graph.pb.h"

namespace freshet {
namespace {

constexpr int kVerticesMax = 65'536;
constexpr int kEdgesMax = 1 << 20;
constexpr uint32_t kIndexMax = 65'536;  // Of inputs and outputs of one operator.

Status refuse(const std::string& what) { return invalid_argument("job graph: " + what); }

void write_operator(const ChainedOperator& one, proto::ChainedOperatorProto* message) {
  message->set_id(one.id.value);
  message->set_name(one.name);
  message->set_uid(one.uid);
  message->set_source(one.source);
  message->set_sink(one.sink);
  for (const ChainedOutput& output : one.outputs) {
    proto::ChainedOutputProto* to = message->add_outputs();
    to->set_output(output.output);
    to->set_input(output.input);
    if (output.chained) {
      to->set_chained_operator(output.chained_operator);
    } else {
      to->set_dataset(output.dataset.value);
    }
  }
}

void write_edge(const JobEdge& edge, proto::EdgeProto* message) {
  message->set_producer(edge.producer.value);
  message->set_consumer(edge.consumer.value);
  message->set_input(edge.input);
  message->set_partitioning(static_cast<uint32_t>(edge.partitioning));
  message->set_feedback(edge.feedback);
  message->set_exchange(static_cast<uint32_t>(edge.exchange));
  message->set_type_fingerprint(edge.type_fingerprint);
  message->set_buffer_timeout_ms(edge.buffer_timeout_ms);
  message->set_source_operator(edge.source_operator.value);
  message->set_source_output(edge.source_output);
  message->set_target_operator(edge.target_operator.value);
}

/// Reads the fields of one message each; `Checker` then looks at how they fit together.
Result<ChainedOperator> read_operator(const proto::ChainedOperatorProto& message) {
  if (message.id() == 0) return refuse("an operator has no id");
  if (message.name().empty() || !is_plain_text(message.name()) || !is_plain_text(message.uid())) {
    return refuse("an operator's name or uid is missing, too long or not UTF-8");
  }
  ChainedOperator one;
  one.id = OperatorId{message.id()};
  one.name = message.name();
  one.uid = message.uid();
  one.source = message.source();
  one.sink = message.sink();
  for (const proto::ChainedOutputProto& from : message.outputs()) {
    if (from.output() >= kIndexMax) return refuse("an output index is too large");
    ChainedOutput output;
    output.output = from.output();
    switch (from.to_case()) {
      case proto::ChainedOutputProto::kChainedOperator:
        output.chained = true;
        output.chained_operator = from.chained_operator();
        break;
      case proto::ChainedOutputProto::kDataset:
        output.dataset = DatasetId{from.dataset()};
        break;
      case proto::ChainedOutputProto::TO_NOT_SET:
        return refuse("an output of operator '" + one.name + "' goes nowhere");
    }
    // Operators inside a chain have one input.
    if (from.input() != 0) return refuse("a chained operator has several inputs");
    one.outputs.push_back(output);
  }
  return one;
}

Result<JobVertex> read_vertex(const proto::VertexProto& message, uint32_t index) {
  if (message.operators().empty()) return refuse("a vertex has no operators");
  JobVertex vertex;
  vertex.id = VertexId{index};
  for (const proto::ChainedOperatorProto& from : message.operators()) {
    ASSIGN_OR_RETURN(ChainedOperator one, read_operator(from));
    vertex.operators.push_back(std::move(one));
  }
  vertex.parallelism = message.parallelism();
  vertex.max_parallelism = message.max_parallelism();
  if (vertex.parallelism == 0 || vertex.parallelism > vertex.max_parallelism ||
      vertex.max_parallelism > kMaxStatelessParallelism) {
    return refuse("vertex '" + vertex.name() + "' has parallelism " +
                  std::to_string(vertex.parallelism) + " of at most " +
                  std::to_string(vertex.max_parallelism));
  }
  if (!is_plain_text(message.slot_sharing_group()))
    return refuse("a slot sharing group is no text");
  vertex.slot_sharing_group = message.slot_sharing_group();
  vertex.blocking = message.blocking();
  vertex.hidden = message.hidden();
  if (vertex.hidden && (vertex.parallelism != 1 || vertex.operators.size() != 1)) {
    return refuse("coordinator '" + vertex.name() + "' is not one operator of parallelism 1");
  }
  return vertex;
}

Result<JobEdge> read_edge(const proto::EdgeProto& message, uint32_t index, size_t vertices) {
  if (message.producer() >= vertices || message.consumer() >= vertices) {
    return refuse("an edge names a vertex that does not exist");
  }
  if (message.partitioning() > static_cast<uint32_t>(Partitioning::kCustom) ||
      message.exchange() > static_cast<uint32_t>(Exchange::kBlocking)) {
    return refuse("an edge has an unknown partitioning or exchange");
  }
  if (message.input() >= kIndexMax || message.source_output() >= kIndexMax) {
    return refuse("an edge has an input or output index that is too large");
  }
  if (!is_plain_text(message.type_fingerprint(), kTypeFingerprintLengthMax)) {
    return refuse("a type fingerprint is too long or not UTF-8");
  }
  if (message.buffer_timeout_ms() > kBufferTimeoutMsMax &&
      message.buffer_timeout_ms() != kNeverFlushedByTime) {
    return refuse("an edge has a buffer timeout of more than a day");
  }
  JobEdge edge;
  edge.id = DatasetId{index};
  edge.producer = VertexId{message.producer()};
  edge.consumer = VertexId{message.consumer()};
  edge.input = message.input();
  edge.partitioning = static_cast<Partitioning>(message.partitioning());
  edge.exchange = static_cast<Exchange>(message.exchange());
  edge.feedback = message.feedback();
  edge.type_fingerprint = message.type_fingerprint();
  edge.buffer_timeout_ms = message.buffer_timeout_ms();
  edge.source_operator = OperatorId{message.source_operator()};
  edge.source_output = message.source_output();
  edge.target_operator = OperatorId{message.target_operator()};
  return edge;
}

Status check_edge_ends(const JobGraph& graph, const JobEdge& edge) {
  const JobVertex& producer = graph.vertices[edge.producer.value];
  const JobVertex& consumer = graph.vertices[edge.consumer.value];
  const std::string names = "the edge from '" + producer.name() + "' to '" + consumer.name() + "'";
  const bool forward_in_order = edge.producer < edge.consumer;
  if (edge.feedback ? edge.producer <= edge.consumer || !consumer.hidden : !forward_in_order) {
    return refuse(names + " breaks the order of the vertices");
  }
  if (edge.partitioning == Partitioning::kForward && producer.parallelism != consumer.parallelism) {
    return refuse(names + " is a forward edge between different parallelisms");
  }
  if (edge.partitioning == Partitioning::kHash && consumer.max_parallelism > kMaxKeyGroups) {
    return refuse(names + " is spread by key over too many key groups");
  }
  if (edge.target_operator != consumer.operators.front().id) {
    return refuse(names + " does not end at the head of its consumer");
  }
  return Status();
}

/// Every operator but the head is called by exactly one before it; every edge leaves exactly one
/// operator.
Status check_outputs(const JobGraph& graph) {
  std::vector<bool> edge_used(graph.edges.size(), false);
  for (const JobVertex& vertex : graph.vertices) {
    std::vector<bool> called(vertex.operators.size(), false);
    for (size_t index = 0; index < vertex.operators.size(); index++) {
      const ChainedOperator& one = vertex.operators[index];
      for (const ChainedOutput& output : one.outputs) {
        if (output.chained) {
          const uint32_t to = output.chained_operator;
          if (to <= index || to >= called.size() || called[to]) {
            return refuse("the operators of '" + vertex.name() + "' are not a tree");
          }
          called[to] = true;
          continue;
        }
        const uint32_t to = output.dataset.value;
        if (to >= graph.edges.size() || edge_used[to] || graph.edges[to].producer != vertex.id ||
            graph.edges[to].source_operator != one.id ||
            graph.edges[to].source_output != output.output) {
          return refuse("an output of operator '" + one.name + "' does not fit its edge");
        }
        edge_used[to] = true;
      }
    }
    if (std::find(called.begin() + 1, called.end(), false) != called.end()) {
      return refuse("the operators of '" + vertex.name() + "' are not a tree");
    }
  }
  if (std::find(edge_used.begin(), edge_used.end(), false) != edge_used.end()) {
    return refuse("an edge leaves no operator");
  }
  return Status();
}

Status check_inputs(const JobGraph& graph) {
  std::vector<std::set<uint32_t>> inputs(graph.vertices.size());
  for (const JobEdge& edge : graph.edges) inputs[edge.consumer.value].insert(edge.input);
  for (const JobVertex& vertex : graph.vertices) {
    const std::set<uint32_t>& used = inputs[vertex.id.value];
    if (used.empty()) {
      if (vertex.hidden || vertex.operators.front().source) continue;
      return refuse("vertex '" + vertex.name() + "' has no input and is no source");
    }
    if (*used.rbegin() != used.size() - 1) {
      return refuse("an input of vertex '" + vertex.name() + "' is not connected");
    }
  }
  return Status();
}

Status check_ids(const JobGraph& graph) {
  std::set<OperatorId> ids;
  for (const JobVertex& vertex : graph.vertices) {
    for (const ChainedOperator& one : vertex.operators) {
      if (!ids.insert(one.id).second) {
        return refuse("two operators have the id " + to_string(one.id));
      }
    }
  }
  return Status();
}

}  // namespace

void to_proto(const JobGraph& graph, proto::JobGraphProto* message) {
  message->Clear();
  for (const JobVertex& vertex : graph.vertices) {
    proto::VertexProto* to = message->add_vertices();
    for (const ChainedOperator& one : vertex.operators) write_operator(one, to->add_operators());
    to->set_parallelism(vertex.parallelism);
    to->set_max_parallelism(vertex.max_parallelism);
    to->set_slot_sharing_group(vertex.slot_sharing_group);
    to->set_blocking(vertex.blocking);
    to->set_hidden(vertex.hidden);
  }
  for (const JobEdge& edge : graph.edges) write_edge(edge, message->add_edges());
  message->set_mode(static_cast<uint32_t>(graph.mode));
}

Result<JobGraph> from_proto(const proto::JobGraphProto& message) {
  if (message.vertices().empty()) return refuse("it has no vertices");
  if (message.vertices_size() > kVerticesMax || message.edges_size() > kEdgesMax) {
    return refuse("it has too many vertices or edges");
  }
  if (message.mode() > static_cast<uint32_t>(RuntimeMode::kBatch))
    return refuse("its mode is neither streaming nor batch");
  JobGraph graph;
  graph.mode = static_cast<RuntimeMode>(message.mode());
  for (const proto::VertexProto& from : message.vertices()) {
    ASSIGN_OR_RETURN(JobVertex vertex,
                     read_vertex(from, static_cast<uint32_t>(graph.vertices.size())));
    graph.vertices.push_back(std::move(vertex));
  }
  for (const proto::EdgeProto& from : message.edges()) {
    ASSIGN_OR_RETURN(JobEdge edge, read_edge(from, static_cast<uint32_t>(graph.edges.size()),
                                             graph.vertices.size()));
    RETURN_IF_ERROR(check_edge_ends(graph, edge));
    graph.edges.push_back(std::move(edge));
  }
  RETURN_IF_ERROR(check_ids(graph));
  RETURN_IF_ERROR(check_outputs(graph));
  RETURN_IF_ERROR(check_inputs(graph));
  return graph;
}

namespace {

/// How records are spread is part of the code of an edge: one without a key cannot be asked for it.
Status check_edges_belong_to(const JobGraph& graph, const LogicalGraph& logical) {
  using Ends = std::tuple<OperatorId, uint32_t, OperatorId, uint32_t, Partitioning>;
  std::set<Ends> built;
  for (const LogicalEdge& edge : logical.edges) {
    built.emplace(logical.operators[edge.from].id, edge.from_output, logical.operators[edge.to].id,
                  edge.to_input, edge.partitioning);
  }
  for (const JobEdge& edge : graph.edges) {
    if (!built.contains({edge.source_operator, edge.source_output, edge.target_operator, edge.input,
                         edge.partitioning})) {
      return refuse("the module builds no edge such as " + std::to_string(edge.id.value) + ", " +
                    std::string(to_string(edge.partitioning)));
    }
  }
  return Status();
}

}  // namespace

Status check_belongs_to(const JobGraph& graph, const LogicalGraph& logical) {
  std::map<OperatorId, const LogicalOperator*> built;
  for (const LogicalOperator& one : logical.operators) built.emplace(one.id, &one);
  const auto find = [&](OperatorId id) -> const LogicalOperator* {
    const auto at = built.find(id);
    return at == built.end() ? nullptr : at->second;
  };
  for (const JobVertex& vertex : graph.vertices) {
    for (const ChainedOperator& one : vertex.operators) {
      const LogicalOperator* made = find(one.id);
      if (made == nullptr || made->source != one.source || made->sink != one.sink ||
          (vertex.hidden && !made->coordinator)) {
        return refuse("operator '" + one.name + "' is not what the module builds");
      }
      for (const ChainedOutput& output : one.outputs) {
        if (output.output >= made->outputs) {
          return refuse("operator '" + one.name + "' has no output " +
                        std::to_string(output.output));
        }
      }
    }
  }
  return check_edges_belong_to(graph, logical);
}

}  // namespace freshet
