#include "jobmanager/execution_graph.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

namespace {

bool is_at_end(TaskState s) { return s == TaskState::kEndOfData || s == TaskState::kFinished; }

bool has_begun(TaskState s) { return s != TaskState::kCreated; }

}  // namespace

ExecutionGraph::ExecutionGraph(JobGraph graph, RegionCycles cycles)
    : graph_(std::move(graph)),
      regions_(graph_, cycles),
      inputs_of_regions_(regions_),
      begun_(regions_.count(), 0) {
  first_of_vertex_.push_back(0);
  for (const JobVertex& vertex : graph_.vertices) {
    first_of_vertex_.push_back(first_of_vertex_.back() + vertex.parallelism);
    build_steps_++;
  }
  executions_.resize(first_of_vertex_.back());
  build_steps_ += executions_.size() + regions_.steps();
  for (uint32_t r = 0; r < regions_.count(); r++)
    unended_.push_back(static_cast<uint32_t>(regions_.members(r).size()));
  state_counts_[static_cast<size_t>(TaskState::kCreated)] = task_count();
  output_hashes_.resize(graph_.edges.size());
  inputs_.resize(graph_.vertices.size());
  outputs_.resize(graph_.vertices.size());
  first_group_of_edge_.push_back(0);
  for (const JobEdge& edge : graph_.edges) {
    inputs_[edge.consumer.value].push_back(edge.id);
    outputs_[edge.producer.value].push_back(edge.id);
    add_groups(edge);
    first_group_of_edge_.push_back(static_cast<uint32_t>(groups_.size()));
  }
}

void ExecutionGraph::add_groups(const JobEdge& edge) {
  const uint32_t producers = graph_.vertices[edge.producer.value].parallelism;
  const uint32_t consumers = graph_.vertices[edge.consumer.value].parallelism;
  const auto add = [&](IndexRange from, IndexRange to) {
    groups_.push_back({edge.id, from, from.size(), to.size()});
    consumers_.push_back({edge.consumer, to});
    add_region_inputs(static_cast<uint32_t>(groups_.size()) - 1);
    build_steps_++;
  };
  if (is_all_to_all(edge.partitioning)) {
    add({0, producers}, {0, consumers});
  } else if (producers >= consumers) {
    for (uint32_t c = 0; c < consumers; c++) {
      add(producers_of_consumer(edge.partitioning, c, producers, consumers), {c, c + 1});
    }
  } else {
    for (uint32_t p = 0; p < producers; p++) {
      add({p, p + 1}, consumers_of_producer(edge.partitioning, p, producers, consumers));
    }
  }
}

/// Those that have a subtask of the vertex. Where a cycle of vertices was merged that need not be
/// all of its logical region.
std::vector<IndexRange> ExecutionGraph::regions_with(VertexId vertex) const {
  const LogicalRegion& logical = regions_.logical_regions()[regions_.logical_region_of(vertex)];
  const bool has_cycle = std::any_of(
      logical.reasons.begin(), logical.reasons.end(),
      [](const RegionReason& reason) { return reason.merge == RegionMerge::kVertexCycle; });
  if (!has_cycle) return {logical.regions};
  std::vector<uint32_t> regions;
  for (uint32_t i = first_of_vertex_[vertex.value]; i < first_of_vertex_[vertex.value + 1]; i++)
    regions.push_back(regions_.region_of(i));
  std::sort(regions.begin(), regions.end());
  std::vector<IndexRange> ranges;
  for (const uint32_t region : regions) {
    if (!ranges.empty() && region < ranges.back().end) continue;
    if (!ranges.empty() && region == ranges.back().end) {
      ranges.back().end++;
    } else {
      ranges.push_back({region, region + 1});
    }
  }
  return ranges;
}

void ExecutionGraph::add_region_inputs(uint32_t group) {
  const JobEdge& edge = graph_.edges[groups_[group].dataset.value];
  const uint32_t first_producer = first_of_vertex_[edge.producer.value];
  const uint32_t first_consumer = first_of_vertex_[edge.consumer.value];
  const IndexRange producers = groups_[group].producers;
  const IndexRange consumers = consumers_[group].consumers;
  if (edge.exchange == Exchange::kPipelined || edge.feedback) {
    inputs_of_regions_.add_nothing();
  } else if (!is_all_to_all(edge.partitioning)) {
    inputs_of_regions_.add_pointwise(
        {first_producer + producers.begin, first_producer + producers.end},
        {first_consumer + consumers.begin, first_consumer + consumers.end});
  } else {
    const uint32_t logical = regions_.logical_region_of(edge.consumer);
    const bool one_region = regions_.logical_regions()[logical].regions.size() == 1;
    if (one_region && regions_.logical_region_of(edge.producer) == logical) {
      inputs_of_regions_.add_nothing();
    } else {
      inputs_of_regions_.add_all_to_all(regions_with(edge.consumer), producers.size());
    }
  }
}

SubtaskId ExecutionGraph::subtask_at(uint32_t index) const {
  CHECK(index < executions_.size());
  const auto after = std::upper_bound(first_of_vertex_.begin(), first_of_vertex_.end(), index);
  const auto vertex = static_cast<uint32_t>(after - first_of_vertex_.begin() - 1);
  return {VertexId{vertex}, index - first_of_vertex_[vertex]};
}

bool ExecutionGraph::contains(SubtaskId subtask) const {
  return subtask.vertex.value < graph_.vertices.size() &&
         subtask.index < graph_.vertices[subtask.vertex.value].parallelism;
}

uint32_t ExecutionGraph::live_count() const {
  return count(TaskState::kDeploying) + count(TaskState::kInitializing) +
         count(TaskState::kRunning) + count(TaskState::kEndOfData) + count(TaskState::kCanceling);
}

bool ExecutionGraph::all_at_end_of_data() const {
  return count(TaskState::kEndOfData) + count(TaskState::kFinished) == task_count();
}

void ExecutionGraph::move(uint32_t index, TaskState to) {
  Execution& execution = executions_[index];
  CHECK(can_move(execution.state, to));
  const TaskState from = std::exchange(execution.state, to);
  state_counts_[static_cast<size_t>(from)]--;
  state_counts_[static_cast<size_t>(to)]++;
  const uint32_t region = regions_.region_of(index);
  begun_[region] += has_begun(to) - has_begun(from);
  if (is_at_end(from) != is_at_end(to)) {
    if (!execution.restarts) count_end(index, is_at_end(to));
    if (!execution.output_lost) update_groups(index, is_at_end(to));
  }
  execution.entered[static_cast<size_t>(to)] = now_;
}

void ExecutionGraph::set_progress(uint32_t index, const ExecutionProgress& progress) {
  executions_[index].progress = progress;
}

void ExecutionGraph::set_counts(uint32_t index, const ExecutionProgress& progress) {
  const TaskGauges gauges = executions_[index].progress.gauges;
  executions_[index].progress = progress;
  executions_[index].progress.gauges = gauges;
}

void ExecutionGraph::reset(uint32_t index) {
  Execution& execution = executions_[index];
  CHECK(!is_live(execution.state));
  const uint32_t region = regions_.region_of(index);
  begun_[region] -= has_begun(execution.state);
  if (is_at_end(execution.state)) {
    if (!execution.restarts) count_end(index, false);
    if (!execution.output_lost) update_groups(index, false);
  }
  state_counts_[static_cast<size_t>(execution.state)]--;
  state_counts_[static_cast<size_t>(TaskState::kCreated)]++;
  const SubtaskId subtask = subtask_at(index);
  for (const DatasetId dataset : outputs_of(subtask.vertex)) {
    const IndexRange held = groups_holding(dataset, subtask.index);
    for (uint32_t g = held.begin; g < held.end; g++) {
      if (!groups_[g].released) continue;
      remade_[g].insert(subtask.index);
      if (remade_[g].size() < groups_[g].producers.size()) continue;
      groups_[g].released = false;
      remade_.erase(g);
    }
  }
  Execution next;
  next.attempt = execution.attempt + 1;
  next.version = execution.version;
  next.entered[static_cast<size_t>(TaskState::kCreated)] = now_;
  execution = next;
}

void ExecutionGraph::note_released(uint32_t group) {
  groups_[group].released = true;
  remade_.erase(group);
}

bool ExecutionGraph::is_released(uint32_t group, uint32_t producer) const {
  if (!groups_[group].released) return false;
  const auto remade = remade_.find(group);
  return remade == remade_.end() || !remade->second.contains(producer);
}

bool ExecutionGraph::note_output(uint32_t index, DatasetId dataset, uint64_t hash) {
  std::vector<uint64_t>& hashes = output_hashes_[dataset.value];
  const JobEdge& edge = graph_.edges[dataset.value];
  hashes.resize(graph_.vertices[edge.producer.value].parallelism);
  const uint64_t before = std::exchange(hashes[subtask_at(index).index], hash);
  return hash != 0 && before == hash;
}

bool ExecutionGraph::note_input_read(uint32_t index, DatasetId dataset) {
  const Execution& execution = executions_[index];
  if (execution.restarts || execution.state != TaskState::kRunning) return false;
  const uint32_t consumer = subtask_at(index).index;
  return read_[group_read_by(dataset, consumer)].insert(consumer).second;
}

bool ExecutionGraph::has_read(uint32_t group, uint32_t consumer) const {
  const Execution& execution = at(SubtaskId{consumers_[group].vertex, consumer});
  if (is_at_end(execution.state)) return !execution.restarts;
  const auto readers = read_.find(group);
  return readers != read_.end() && readers->second.contains(consumer);
}

void ExecutionGraph::forget_read(uint32_t index) {
  const SubtaskId subtask = subtask_at(index);
  for (const DatasetId dataset : inputs_of(subtask.vertex)) {
    const auto readers = read_.find(group_read_by(dataset, subtask.index));
    if (readers == read_.end()) continue;
    readers->second.erase(subtask.index);
    if (readers->second.empty()) read_.erase(readers);
  }
}

void ExecutionGraph::decide_restart(uint32_t index) {
  Execution& execution = executions_[index];
  execution.version++;
  forget_read(index);
  lose_output(index);
  if (!execution.restarts && is_at_end(execution.state)) count_end(index, false);
  execution.restarts = true;
}

void ExecutionGraph::lose_output(uint32_t index) {
  Execution& execution = executions_[index];
  if (!is_at_end(execution.state) || execution.output_lost) return;
  execution.output_lost = true;
  update_groups(index, false);
}

void ExecutionGraph::assign(uint32_t index, AllocationId allocation, TaskManagerId task_manager,
                            uint32_t slot) {
  Execution& execution = executions_[index];
  execution.allocation = allocation;
  execution.task_manager = task_manager;
  execution.slot = slot;
}

uint32_t ExecutionGraph::group_read_by(DatasetId dataset, uint32_t consumer) const {
  const JobEdge& edge = graph_.edges[dataset.value];
  const uint32_t first = first_group_of_edge_[dataset.value];
  if (is_all_to_all(edge.partitioning)) return first;
  const uint32_t producers = graph_.vertices[edge.producer.value].parallelism;
  const uint32_t consumers = graph_.vertices[edge.consumer.value].parallelism;
  if (producers >= consumers) return first + consumer;
  return first + producers_of_consumer(edge.partitioning, consumer, producers, consumers).begin;
}

IndexRange ExecutionGraph::groups_holding(DatasetId dataset, uint32_t producer) const {
  const JobEdge& edge = graph_.edges[dataset.value];
  const uint32_t first = first_group_of_edge_[dataset.value];
  if (is_all_to_all(edge.partitioning)) return {first, first + 1};
  const uint32_t producers = graph_.vertices[edge.producer.value].parallelism;
  const uint32_t consumers = graph_.vertices[edge.consumer.value].parallelism;
  if (producers < consumers) return {first + producer, first + producer + 1};
  const IndexRange readers =
      consumers_of_producer(edge.partitioning, producer, producers, consumers);
  return {first + readers.begin, first + readers.end};
}

void ExecutionGraph::count_end(uint32_t index, bool ended) {
  unended_[regions_.region_of(index)] += ended ? -1 : 1;
  update_readings(index, ended);
}

void ExecutionGraph::update_readings(uint32_t index, bool ended) {
  const SubtaskId subtask = subtask_at(index);
  for (const DatasetId dataset : inputs_of(subtask.vertex)) {
    if (!is_blocking(dataset)) continue;
    const uint32_t g = group_read_by(dataset, subtask.index);
    groups_[g].unread += ended ? -1 : 1;
    if (groups_[g].unread == 0) read_groups_.push_back(g);
  }
}

void ExecutionGraph::update_groups(uint32_t index, bool ended) {
  const SubtaskId subtask = subtask_at(index);
  for (const DatasetId dataset : outputs_of(subtask.vertex)) {
    const IndexRange held = groups_holding(dataset, subtask.index);
    for (uint32_t g = held.begin; g < held.end; g++) {
      CHECK(ended ? groups_[g].unfinished > 0
                  : groups_[g].unfinished < groups_[g].producers.size());
      if (groups_[g].unfinished == 0) reopened_groups_.push_back(g);
      groups_[g].unfinished += ended ? -1 : 1;
      // Made again for nobody.
      if (groups_[g].unfinished == 0 && groups_[g].unread == 0 && is_blocking(dataset))
        read_groups_.push_back(g);
      if (ended) {
        inputs_of_regions_.producer_ended(g, index);
      } else {
        inputs_of_regions_.producer_reopened(g, index);
      }
    }
  }
}

}  // namespace freshet
