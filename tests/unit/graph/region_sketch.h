#pragma once

#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/graph/job_graph.h"

namespace freshet {

/// Job graphs of which only parallelism and the kinds of edges matter. Vertex 0 is `a`.
class RegionSketch {
 public:
  explicit RegionSketch(const std::vector<uint32_t>& parallelism) {
    for (const uint32_t one : parallelism) {
      JobVertex vertex;
      vertex.id = VertexId{static_cast<uint32_t>(graph.vertices.size())};
      vertex.parallelism = one;
      vertex.slot_sharing_group = "default";
      ChainedOperator only;
      only.name = std::string(1, static_cast<char>('a' + vertex.id.value));
      vertex.operators.push_back(std::move(only));
      graph.vertices.push_back(std::move(vertex));
    }
  }

  RegionSketch& pipelined(uint32_t from, uint32_t to, Partitioning p = Partitioning::kRescale) {
    return edge(from, to, p, Exchange::kPipelined);
  }
  RegionSketch& blocking(uint32_t from, uint32_t to, Partitioning p = Partitioning::kRescale) {
    return edge(from, to, p, Exchange::kBlocking);
  }
  RegionSketch& edge(uint32_t from, uint32_t to, Partitioning p, Exchange exchange) {
    JobEdge one;
    one.id = DatasetId{static_cast<uint32_t>(graph.edges.size())};
    one.producer = VertexId{from};
    one.consumer = VertexId{to};
    one.partitioning = p;
    one.exchange = exchange;
    graph.edges.push_back(one);
    return *this;
  }

  JobGraph graph;
};

/// Up to seven vertices of up to seven subtasks, with edges of all kinds from earlier to later
/// ones.
inline JobGraph random_region_graph(uint64_t seed) {
  const auto random = make_seeded_random(seed);
  std::vector<uint32_t> parallelism;
  for (uint64_t i = 0; i < 2 + random->below(6); i++)
    parallelism.push_back(static_cast<uint32_t>(1 + random->below(7)));
  RegionSketch sketch(parallelism);
  const uint64_t wide = random->below(6);  // One in so many edges; 0: none.
  const auto vertices = static_cast<uint32_t>(parallelism.size());
  for (uint32_t to = 1; to < vertices; to++) {
    for (uint64_t k = 0; k < 1 + random->below(3); k++) {
      const bool all_to_all = wide != 0 && random->one_in(wide);
      sketch.edge(static_cast<uint32_t>(random->below(to)), to,
                  all_to_all ? Partitioning::kHash : Partitioning::kRescale,
                  random->one_in(2) ? Exchange::kBlocking : Exchange::kPipelined);
    }
  }
  return sketch.graph;
}

}  // namespace freshet
