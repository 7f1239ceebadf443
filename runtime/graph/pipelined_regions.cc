#include "runtime/graph/pipelined_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/graph/strongly_connected.h"
#include "runtime/graph/union_find.h"

namespace freshet {

namespace {

bool must_be_pipelined(const JobEdge& edge) {
  return edge.exchange == Exchange::kPipelined || edge.feedback;
}

std::vector<uint32_t> first_subtasks(const JobGraph& graph) {
  std::vector<uint32_t> first{0};
  for (const JobVertex& vertex : graph.vertices) first.push_back(first.back() + vertex.parallelism);
  return first;
}

}  // namespace

class PipelinedRegions::Builder {
 public:
  Builder(const JobGraph& graph, RegionCycles cycles, PipelinedRegions* result)
      : graph_(graph),
        cycles_(cycles),
        out_(*result),
        first_subtask_(first_subtasks(graph)),
        logical_sets_(static_cast<uint32_t>(graph.vertices.size())) {}

  void run() {
    join_vertices();
    if (cycles_ == RegionCycles::kMerged) join_vertex_cycles();
    number_logical_regions();
    collect_inner_edges();
    out_.region_of_.resize(first_subtask_.back());
    for (uint32_t i = 0; i < out_.logical_.size(); i++) cut(i);
    list_members();
  }

 private:
  void join_vertices() {
    for (const JobEdge& edge : graph_.edges) {
      out_.steps_++;
      if (must_be_pipelined(edge) && logical_sets_.join(edge.producer.value, edge.consumer.value))
        reasons_.push_back({RegionMerge::kPipelinedEdge, edge.id});
    }
  }

  /// Each of two sets of vertices may need the other: A gives B pipelined and C blocking, and C
  /// gives B blocking.
  void join_vertex_cycles() {
    const auto vertices = static_cast<uint32_t>(graph_.vertices.size());
    std::vector<std::pair<uint32_t, uint32_t>> between;
    for (const JobEdge& edge : graph_.edges) {
      const uint32_t from = logical_sets_.find(edge.producer.value);
      const uint32_t to = logical_sets_.find(edge.consumer.value);
      if (from != to) between.emplace_back(from, to);
    }
    const std::vector<uint32_t> component = strongly_connected_components(vertices, between);
    for (const JobEdge& edge : graph_.edges) {
      out_.steps_++;
      const uint32_t from = logical_sets_.find(edge.producer.value);
      const uint32_t to = logical_sets_.find(edge.consumer.value);
      if (from == to || must_be_pipelined(edge)) continue;
      if (component_of(component, edge.producer) != component_of(component, edge.consumer))
        continue;
      joined_.push_back(edge.id);
    }
    for (const DatasetId id : joined_) {
      const JobEdge& edge = graph_.edges[id.value];
      if (logical_sets_.join(edge.producer.value, edge.consumer.value))
        reasons_.push_back({RegionMerge::kVertexCycle, id});
    }
  }

  uint32_t component_of(const std::vector<uint32_t>& component, VertexId vertex) {
    return component[logical_sets_.find(vertex.value)];
  }

  void number_logical_regions() {
    std::map<uint32_t, uint32_t> number_of;  // By the set's member.
    for (const JobVertex& vertex : graph_.vertices) {
      out_.steps_++;
      const auto [it, added] = number_of.try_emplace(logical_sets_.find(vertex.id.value),
                                                     static_cast<uint32_t>(out_.logical_.size()));
      if (added) out_.logical_.emplace_back();
      out_.logical_[it->second].vertices.push_back(vertex.id);
      out_.logical_of_.push_back(it->second);
    }
    for (const RegionReason& reason : reasons_)
      logical_holding(reason.edge).reasons.push_back(reason);
  }

  LogicalRegion& logical_holding(DatasetId edge) {
    return out_.logical_[out_.logical_of_[graph_.edges[edge.value].producer.value]];
  }

  void collect_inner_edges() {
    inner_edges_.resize(out_.logical_.size());
    for (const JobEdge& edge : graph_.edges) {
      const uint32_t logical = out_.logical_of_[edge.producer.value];
      if (logical == out_.logical_of_[edge.consumer.value]) inner_edges_[logical].push_back(&edge);
    }
  }

  void cut(uint32_t number) {
    LogicalRegion& logical = out_.logical_[number];
    logical.regions = {regions_, regions_};
    const auto& inner = inner_edges_[number];
    const auto all_to_all = std::find_if(inner.begin(), inner.end(), [this](const JobEdge* edge) {
      return is_all_to_all(edge->partitioning) &&
             (must_be_pipelined(*edge) || cycles_ == RegionCycles::kMerged);
    });
    if (all_to_all != inner.end()) {
      logical.reasons.push_back({RegionMerge::kAllToAllEdge, (*all_to_all)->id});
      for_each_subtask(logical, [&](uint32_t subtask) { out_.region_of_[subtask] = regions_; });
      regions_++;
    } else {
      cut_pointwise(&logical, inner);
    }
    logical.regions.end = regions_;
    std::stable_sort(logical.reasons.begin(), logical.reasons.end(),
                     [](const RegionReason& a, const RegionReason& b) { return a.edge < b.edge; });
  }

  template <class Function>
  void for_each_subtask(const LogicalRegion& logical, Function function) {
    for (const VertexId vertex : logical.vertices) {
      for (uint32_t s = first_subtask_[vertex.value]; s < first_subtask_[vertex.value + 1]; s++) {
        out_.steps_++;
        function(s);
      }
    }
  }

  /// `function(producer, consumer)` for each pair that a pointwise edge joins: no more than the
  /// larger of its ends has subtasks.
  template <class Function>
  void for_each_pair(const JobEdge& edge, Function function) {
    const uint32_t producers = graph_.vertices[edge.producer.value].parallelism;
    const uint32_t consumers = graph_.vertices[edge.consumer.value].parallelism;
    const uint32_t from = first_subtask_[edge.producer.value];
    const uint32_t to = first_subtask_[edge.consumer.value];
    for (uint32_t c = 0; c < consumers; c++) {
      const IndexRange read = producers_of_consumer(edge.partitioning, c, producers, consumers);
      for (uint32_t p = read.begin; p < read.end; p++) {
        out_.steps_++;
        function(from + p, to + c);
      }
    }
  }

  void cut_pointwise(LogicalRegion* logical, const std::vector<const JobEdge*>& inner) {
    // Places of the subtasks: those of each vertex one after the other.
    place_of_vertex_.resize(graph_.vertices.size());
    uint32_t places = 0;
    for (const VertexId vertex : logical->vertices) {
      place_of_vertex_[vertex.value] = places;
      places += graph_.vertices[vertex.value].parallelism;
    }
    UnionFind sets(places);
    for (const JobEdge* edge : inner) {
      if (!must_be_pipelined(*edge)) continue;
      for_each_place_pair(*edge, [&](uint32_t a, uint32_t b) { sets.join(a, b); });
    }
    if (cycles_ == RegionCycles::kMerged) join_subtask_cycles(logical, inner, places, &sets);
    uint32_t place = 0;
    std::vector<uint32_t> number_of(places, ~0u);
    for_each_subtask(*logical, [&](uint32_t subtask) {
      uint32_t& number = number_of[sets.find(place++)];
      if (number == ~0u) number = regions_++;
      out_.region_of_[subtask] = number;
    });
  }

  template <class Function>
  void for_each_place_pair(const JobEdge& edge, Function function) {
    const uint32_t from = place_of_vertex_[edge.producer.value];
    const uint32_t to = place_of_vertex_[edge.consumer.value];
    const uint32_t first_from = first_subtask_[edge.producer.value];
    const uint32_t first_to = first_subtask_[edge.consumer.value];
    for_each_pair(edge, [&](uint32_t producer, uint32_t consumer) {
      function(from + producer - first_from, to + consumer - first_to);
    });
  }

  void join_subtask_cycles(LogicalRegion* logical, const std::vector<const JobEdge*>& inner,
                           uint32_t places, UnionFind* sets) {
    std::vector<std::pair<uint32_t, uint32_t>> between;
    std::vector<DatasetId> edge_of;
    for (const JobEdge* edge : inner) {
      if (must_be_pipelined(*edge)) continue;
      for_each_place_pair(*edge, [&](uint32_t a, uint32_t b) {
        a = sets->find(a);
        b = sets->find(b);
        if (a == b) return;
        between.emplace_back(a, b);
        edge_of.push_back(edge->id);
      });
    }
    if (between.empty()) return;
    const std::vector<uint32_t> component = strongly_connected_components(places, between);
    for (size_t i = 0; i < between.size(); i++) {
      const auto [from, to] = between[i];
      if (component[from] != component[to] || !sets->join(from, to)) continue;
      const RegionReason reason{RegionMerge::kSubtaskCycle, edge_of[i]};
      if (logical->reasons.empty() || !(logical->reasons.back() == reason))
        logical->reasons.push_back(reason);
    }
  }

  void list_members() {
    const auto subtasks = static_cast<uint32_t>(out_.region_of_.size());
    out_.first_member_.assign(regions_ + 1, 0);
    for (const uint32_t region : out_.region_of_) out_.first_member_[region + 1]++;
    for (uint32_t i = 0; i < regions_; i++) out_.first_member_[i + 1] += out_.first_member_[i];
    std::vector<uint32_t> place(out_.first_member_.begin(), out_.first_member_.end() - 1);
    out_.members_.resize(subtasks);
    for (uint32_t s = 0; s < subtasks; s++) out_.members_[place[out_.region_of_[s]]++] = s;
  }

  const JobGraph& graph_;
  const RegionCycles cycles_;
  PipelinedRegions& out_;
  const std::vector<uint32_t> first_subtask_;  // One more than there are vertices.
  UnionFind logical_sets_;
  std::vector<DatasetId> joined_;                         // Edges on a cycle of vertices.
  std::vector<RegionReason> reasons_;                     // Of all logical regions.
  std::vector<std::vector<const JobEdge*>> inner_edges_;  // By logical region.
  std::vector<uint32_t> place_of_vertex_;                 // In the logical region being cut.
  uint32_t regions_ = 0;
};

PipelinedRegions::PipelinedRegions(const JobGraph& graph, RegionCycles cycles) {
  Builder(graph, cycles, this).run();
}

std::string describe(const RegionReason& reason, const JobGraph& graph) {
  const JobEdge& edge = graph.edges[reason.edge.value];
  const std::string ends = fmt::format("'{}' -> '{}'", graph.vertices[edge.producer.value].name(),
                                       graph.vertices[edge.consumer.value].name());
  switch (reason.merge) {
    case RegionMerge::kPipelinedEdge:
      return "pipelined edge " + ends;
    case RegionMerge::kVertexCycle:
      return "blocking edge " + ends + " on a cycle: each side waits for the other";
    case RegionMerge::kAllToAllEdge:
      return "all-to-all edge " + ends + " inside";
    case RegionMerge::kSubtaskCycle:
      return "blocking edge " + ends + " on a cycle of subtasks: each waits for the other";
  }
  CHECK(false);
  return {};
}

}  // namespace freshet
