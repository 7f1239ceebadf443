#include "runtime/graph/json_plan.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

namespace freshet {

namespace {

using Json = nlohmann::ordered_json;

std::string escape_for_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return capitals;
}

/// Null without inputs.
Json inputs_of(const JobGraph& graph, const JobVertex& vertex) {
  Json inputs;
  for (const DatasetId dataset : graph.inputs_of(vertex.id)) {
    const JobEdge& edge = graph.edges[dataset.value];
    const JobVertex& producer = graph.vertices[edge.producer.value];
    if (edge.feedback || producer.hidden) continue;
    Json input;
    input["num"] = inputs.size();
    input["id"] = vertex_hex_id(producer);
    input["ship_strategy"] = in_capitals(to_string(edge.partitioning));
    input["exchange"] = edge.exchange == Exchange::kBlocking ? "blocking" : "pipelined_bounded";
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Json node_of(const JobGraph& graph, const JobVertex& vertex) {
  Json node;
  node["id"] = vertex_hex_id(vertex);
  node["parallelism"] = vertex.parallelism;
  node["operator"] = "";
  node["operator_strategy"] = "";
  node["description"] = escape_for_html(vertex_description(vertex));
  if (Json inputs = inputs_of(graph, vertex); !inputs.is_null()) node["inputs"] = std::move(inputs);
  node["optimizer_properties"] = Json::object();
  return node;
}

}  // namespace

std::string vertex_hex_id(const JobVertex& vertex) {
  return fmt::format("{:032x}", vertex.operators.front().id.value);
}

std::string operator_description(const ChainedOperator& one) {
  return fmt::format("{}{}{}", one.source ? "Source: " : "", one.sink ? "Sink: " : "", one.name);
}

std::string vertex_description(const JobVertex& vertex) {
  std::string description;
  for (const ChainedOperator& one : vertex.operators) {
    if (!description.empty()) description += " -> ";
    description += operator_description(one);
  }
  return description;
}

std::string json_plan(const JobGraph& graph, const std::string& job_id, const std::string& job_name,
                      int indent) {
  Json plan;
  plan["jid"] = job_id;
  plan["name"] = job_name;
  plan["type"] = graph.mode == RuntimeMode::kBatch ? "BATCH" : "STREAMING";
  plan["nodes"] = Json::array();
  for (const JobVertex& vertex : graph.vertices) {
    if (!vertex.hidden) plan["nodes"].push_back(node_of(graph, vertex));
  }
  return plan.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace freshet
