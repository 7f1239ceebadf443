#include "runtime/graph/json_plan.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "runtime/graph/pipelined_regions.h"

namespace freshet {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kRegionsShown = 32;

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

/// `0-3` or `7`, with commas.
std::string ranges(const std::vector<uint32_t>& rising) {
  std::string text;
  for (size_t i = 0; i < rising.size();) {
    size_t end = i + 1;
    while (end < rising.size() && rising[end] == rising[end - 1] + 1) end++;
    if (!text.empty()) text += ',';
    text += std::to_string(rising[i]);
    if (end - i > 1) text += '-' + std::to_string(rising[end - 1]);
    i = end;
  }
  return text;
}

/// The members of one region, by vertex.
Json members_of(const JobGraph& graph, const PipelinedRegions& regions, uint32_t region) {
  Json members = Json::object();
  uint32_t first = 0;
  for (const JobVertex& vertex : graph.vertices) {
    std::vector<uint32_t> subtasks;
    for (uint32_t s = 0; s < vertex.parallelism; s++) {
      if (regions.region_of(first + s) == region) subtasks.push_back(s);
    }
    first += vertex.parallelism;
    if (!vertex.hidden && !subtasks.empty()) members[vertex_hex_id(vertex)] = ranges(subtasks);
  }
  return members;
}

Json regions_of(const JobGraph& graph) {
  const PipelinedRegions regions(graph);
  Json all = Json::array();
  for (const LogicalRegion& logical : regions.logical_regions()) {
    Json one;
    one["vertices"] = Json::array();
    for (const VertexId id : logical.vertices) {
      const JobVertex& vertex = graph.vertices[id.value];
      if (!vertex.hidden) one["vertices"].push_back(vertex_hex_id(vertex));
    }
    if (one["vertices"].empty()) continue;
    one["count"] = logical.regions.size();
    one["reasons"] = Json::array();
    for (const RegionReason& reason : logical.reasons) {
      const JobEdge& edge = graph.edges[reason.edge.value];
      const bool shown = !graph.vertices[edge.producer.value].hidden &&
                         !graph.vertices[edge.consumer.value].hidden;
      if (shown) one["reasons"].push_back(escape_for_html(describe(reason, graph)));
    }
    if (regions.count() <= kRegionsShown) {
      one["members"] = Json::array();
      for (uint32_t r = logical.regions.begin; r < logical.regions.end; r++)
        one["members"].push_back(members_of(graph, regions, r));
    }
    all.push_back(std::move(one));
  }
  return all;
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
  plan["regions"] = regions_of(graph);
  return plan.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace freshet
