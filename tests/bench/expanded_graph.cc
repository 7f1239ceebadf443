// The baseline of bench_control_plane: what a control plane costs that has an object for each pair
// of producer and consumer, and walks these for every decision.
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "runtime/base/check.h"
#include "tests/bench/all_to_all_graph.h"
#include "tests/bench/counting_allocator.h"

namespace freshet::bench {

namespace {

/// As the published system before groups: an object for each pair, known to both ends.
struct Edge {
  uint32_t producer = 0;
  uint32_t consumer = 0;
  uint32_t dataset = 0;
  bool available = false;  // All of the producer's data.
};

class ExpandedGraph {
 public:
  explicit ExpandedGraph(uint32_t parallelism)
      : n_(parallelism), finished_(2 * parallelism), inputs_(parallelism), outputs_(parallelism) {
    for (uint32_t consumer = 0; consumer < n_; consumer++) {
      inputs_[consumer].reserve(n_);
      for (uint32_t producer = 0; producer < n_; producer++)
        inputs_[consumer].push_back({producer, consumer, 0, false});
    }
    for (uint32_t producer = 0; producer < n_; producer++) {
      outputs_[producer].reserve(n_);
      for (uint32_t consumer = 0; consumer < n_; consumer++)
        outputs_[producer].push_back(&inputs_[consumer][producer]);
    }
    steps_ = 2 * uint64_t{n_} * n_;
  }

  /// Subtasks that pipelined edges join; with blocking ones each is looked at, and joins nothing.
  uint32_t count_regions(bool pipelined) {
    std::vector<uint32_t> parent(2 * n_);
    std::iota(parent.begin(), parent.end(), 0u);
    const auto root = [&](uint32_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    uint32_t regions = 2 * n_;
    std::vector<uint32_t> waits_for(2 * n_);  // Inputs from other regions.
    for (const auto& inputs : inputs_) {
      for (const Edge& edge : inputs) {
        steps_++;
        const uint32_t a = root(edge.producer), b = root(n_ + edge.consumer);
        if (!pipelined) {
          waits_for[b] += a != b;
        } else if (a != b) {
          parent[a] = b;
          regions--;
        }
      }
    }
    return regions;
  }

  void finish(uint32_t index) {
    finished_[index] = true;
    if (index >= n_) return;
    for (Edge* edge : outputs_[index]) {
      edge->available = true;
      steps_++;
    }
  }

  /// Consumers all of whose inputs are there, asked one by one.
  uint32_t schedulable() {
    uint32_t count = 0;
    for (const auto& inputs : inputs_) {
      bool all = true;
      for (const Edge& edge : inputs) {
        all = all && edge.available;
        steps_++;
      }
      count += all;
    }
    return count;
  }

  uint32_t releasable() {
    uint32_t count = 0;
    for (const auto& outputs : outputs_) {
      bool all = true;
      for (const Edge* edge : outputs) {
        all = all && finished_[n_ + edge->consumer];
        steps_++;
      }
      count += all;
    }
    return count;
  }

  /// From a failed producer: over all its consumers, and all of what these read.
  uint32_t restart_set(bool pipelined) {
    std::vector<bool> seen(2 * n_);
    std::deque<uint32_t> open = {0};
    seen[0] = true;
    uint32_t count = 0;
    const auto add = [&](uint32_t index) {
      if (!seen[index]) open.push_back(index);
      seen[index] = true;
    };
    for (; !open.empty(); open.pop_front(), count++) {
      const uint32_t index = open.front();
      if (index < n_) {
        for (const Edge* edge : outputs_[index]) {
          steps_++;
          add(n_ + edge->consumer);
        }
      } else {
        for (const Edge& edge : inputs_[index - n_]) {
          steps_++;
          if (pipelined || !edge.available) add(edge.producer);
        }
      }
    }
    return count;
  }

  uint64_t steps() const { return steps_; }

 private:
  const uint32_t n_;
  std::vector<bool> finished_;
  std::vector<std::vector<Edge>> inputs_;
  std::vector<std::vector<Edge*>> outputs_;
  uint64_t steps_ = 0;
};

}  // namespace

uint64_t expanded_graph_bytes(uint32_t parallelism) {
  return uint64_t{parallelism} * parallelism * (sizeof(Edge) + sizeof(Edge*));
}

GraphCosts measure_expanded_graph(uint32_t parallelism, RuntimeMode mode) {
  const bool pipelined = mode != RuntimeMode::kBatch;
  GraphCosts costs;
  std::unique_ptr<ExpandedGraph> graph;
  const uint64_t allocated = allocated_bytes(), resident = resident_bytes();
  costs.init_ms = cpu_ms_of([&] {
    graph = std::make_unique<ExpandedGraph>(parallelism);
    graph->count_regions(pipelined);
  });
  costs.graph_mb = static_cast<double>(allocated_bytes() - allocated) / 1e6;
  costs.graph_rss_mb = static_cast<double>(resident_bytes() - resident) / 1e6;
  costs.regions_ms = cpu_ms_of(
      [&] { CHECK(graph->count_regions(pipelined) == (pipelined ? 1 : 2 * parallelism)); });
  costs.schedule_downstream_ms = cpu_ms_of([&] {
    if (!pipelined) {
      for (uint32_t i = 0; i < parallelism; i++) graph->finish(i);
    }
    CHECK(graph->schedulable() == (pipelined ? 0 : parallelism));
  });
  costs.restart_set_ms = cpu_ms_of([&] { costs.restarts = graph->restart_set(pipelined); });
  if (!pipelined) {
    costs.release_ms = cpu_ms_of([&] {
      for (uint32_t i = parallelism; i < 2 * parallelism; i++) graph->finish(i);
      CHECK(graph->releasable() == parallelism);
    });
  }
  costs.steps = graph->steps();
  return costs;
}

}  // namespace freshet::bench
