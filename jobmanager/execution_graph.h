#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "jobmanager/region_inputs.h"
#include "runtime/base/ids.h"
#include "runtime/base/time.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/pipelined_regions.h"
#include "runtime/graph/task_state.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

/// Numbers that a task reports about itself.
using ExecutionProgress = TaskNumbers;

/// The present attempt of one subtask.
struct Execution {
  AttemptNumber attempt = 0;
  TaskState state = TaskState::kCreated;
  bool acknowledged = false;  // The TaskManager has reported a state of this attempt.
  uint32_t version = 0;       // Rises when a restart is decided: what was decided before is stale.
  AllocationId allocation;    // With task_manager: valid from kScheduled on.
  TaskManagerId task_manager;
  uint32_t slot = 0;                                   // Of the TaskManager.
  std::array<std::optional<TimePoint>, 10> entered{};  // When it was moved to each TaskState.
  bool output_lost = false;  // It has ended, and what it made of blocking edges is gone.
  bool restarts = false;     // It is decided that there will be a new attempt.
  ExecutionProgress progress;
};

/// True for an attempt that its TaskManager may be running.
inline bool is_live(TaskState s) {
  return s != TaskState::kCreated && s != TaskState::kScheduled && !is_terminal(s);
}

/// Producers that one set of consumers reads alike: a range, shared by all of them.
struct ConsumedPartitionGroup {
  DatasetId dataset;
  IndexRange producers;
  uint32_t unfinished = 0;  // Producers that have not reached the end of their data, or lost it.
  uint32_t unread = 0;      // Consumers that have not, or will read it again.
  bool released = false;    // All had read it: see ExecutionGraph::is_released().
};

/// The consumers of one ConsumedPartitionGroup; both have the same index.
struct ConsumerVertexGroup {
  VertexId vertex;
  IndexRange consumers;
};

/// A job's subtasks with their attempts and how they are joined. Edges are groups: nothing here has
/// a size or a cost of producers times consumers. Indices of executions are dense, vertex by
/// vertex. Not to be copied.
class ExecutionGraph {
 public:
  ExecutionGraph(const ExecutionGraph&) = delete;
  explicit ExecutionGraph(JobGraph graph, RegionCycles = RegionCycles::kMerged);

  const JobGraph& job_graph() const { return graph_; }
  const PipelinedRegions& regions() const { return regions_; }
  /// Blocking inputs of a region that are not complete; O(1).
  uint32_t open_inputs(uint32_t region) const { return inputs_of_regions_.open(region); }
  /// See RegionInputs.
  std::vector<uint32_t> take_unblocked_regions() { return inputs_of_regions_.take_unblocked(); }
  /// Subtasks of a region that have not reached the end of their data, or will run again; O(1).
  uint32_t unended(uint32_t region) const { return unended_[region]; }
  /// Those that have an attempt beyond kCreated; O(1).
  uint32_t begun(uint32_t region) const { return begun_[region]; }

  uint32_t task_count() const { return static_cast<uint32_t>(executions_.size()); }
  const Execution& at(uint32_t index) const { return executions_[index]; }
  const Execution& at(SubtaskId subtask) const { return executions_[index_of(subtask)]; }
  uint32_t index_of(SubtaskId subtask) const {
    return first_of_vertex_[subtask.vertex.value] + subtask.index;
  }
  SubtaskId subtask_at(uint32_t index) const;
  /// False for what a message may name but the graph does not have.
  bool contains(SubtaskId subtask) const;

  /// How many executions are in a state; O(1).
  uint32_t count(TaskState state) const { return state_counts_[static_cast<size_t>(state)]; }
  /// Attempts that a TaskManager may be running; O(1).
  uint32_t live_count() const;
  /// True when every task has reached the end of its data; O(1).
  bool all_at_end_of_data() const;

  /// The time of what happens until the next call.
  void set_now(TimePoint now) { now_ = now; }

  /// Moves an attempt; the move must be legal. Keeps the counts and the groups' counters.
  void move(uint32_t index, TaskState to);
  /// A new attempt, one number higher, in kCreated. Only for one that is not live.
  void reset(uint32_t index);
  /// There will be a new attempt: what this one has read is wanted again, and nobody begins to read
  /// what it made. Its version rises, until reset() it does not count as ended. May be repeated.
  void decide_restart(uint32_t index);
  /// What an ended attempt made of blocking edges is gone, or given up. Nothing of one that is not.
  void lose_output(uint32_t index);
  /// A running attempt has taken all of a blocking input: it does not want that again, unless it
  /// runs again itself. False when that was known.
  bool note_input_read(uint32_t index, DatasetId dataset);
  /// A consumer of the group has taken all of it, and does not run again.
  bool has_read(uint32_t group, uint32_t consumer) const;
  /// Some consumer has, of the group's present or an earlier content.
  bool is_read_by_some(uint32_t group) const {
    return groups_[group].unread != consumers_[group].consumers.size() || read_.contains(group);
  }
  /// Groups of blocking edges of which no consumer wants anything any more since the last call;
  /// some may have got one again.
  std::vector<uint32_t> take_read_groups() { return std::exchange(read_groups_, {}); }
  /// The hash of what an attempt made of a blocking edge, when it has ended; 0 for one that is not
  /// known. True when the attempt before it made the same.
  bool note_output(uint32_t index, DatasetId dataset, uint64_t hash);
  void note_released(uint32_t group);
  /// What the producer made for the group is gone since all had read it, and no new attempt of it
  /// was decided since.
  bool is_released(uint32_t group, uint32_t producer) const;
  /// There is something to release of a group that all have read.
  bool is_kept(uint32_t group) const { return !groups_[group].released || remade_.contains(group); }
  /// Groups all of whose producers had ended, and one has not any more, since the last call.
  std::vector<uint32_t> take_reopened_groups() { return std::exchange(reopened_groups_, {}); }
  bool is_blocking(DatasetId dataset) const {
    const JobEdge& edge = graph_.edges[dataset.value];
    return edge.exchange == Exchange::kBlocking && !edge.feedback;
  }
  void assign(uint32_t index, AllocationId, TaskManagerId, uint32_t slot);
  void acknowledge(uint32_t index) { executions_[index].acknowledged = true; }
  void set_progress(uint32_t index, const ExecutionProgress& progress);
  /// The same, but for its gauges, which stay.
  void set_counts(uint32_t index, const ExecutionProgress& progress);

  size_t group_count() const { return groups_.size(); }
  const ConsumedPartitionGroup& group(uint32_t index) const { return groups_[index]; }
  const ConsumerVertexGroup& consumers_of_group(uint32_t index) const { return consumers_[index]; }
  /// The group that a subtask of the edge's consumer reads; O(1).
  uint32_t group_read_by(DatasetId dataset, uint32_t consumer) const;
  /// The groups that hold one producer's partition: a range of indices.
  IndexRange groups_holding(DatasetId dataset, uint32_t producer) const;

  /// Input edges of a vertex in the order of their ids.
  std::span<const DatasetId> inputs_of(VertexId vertex) const { return inputs_[vertex.value]; }
  std::span<const DatasetId> outputs_of(VertexId vertex) const { return outputs_[vertex.value]; }

  /// Steps that construction took: for the test that it grows with subtasks and not with pairs.
  uint64_t build_steps() const { return build_steps_; }

 private:
  void add_groups(const JobEdge& edge);
  void add_region_inputs(uint32_t group);
  std::vector<IndexRange> regions_with(VertexId vertex) const;
  void update_groups(uint32_t index, bool ended);
  void update_readings(uint32_t index, bool ended);
  void count_end(uint32_t index, bool ended);
  void forget_read(uint32_t index);

  JobGraph graph_;
  PipelinedRegions regions_;
  RegionInputs inputs_of_regions_;
  std::vector<uint32_t> unended_;  // By region.
  std::vector<uint32_t> begun_;
  std::vector<uint32_t> read_groups_;
  std::vector<uint32_t> reopened_groups_;
  std::map<uint32_t, std::set<uint32_t>> remade_;     // Of released groups: producers reset since.
  std::map<uint32_t, std::set<uint32_t>> read_;       // By group: see note_input_read().
  std::vector<std::vector<uint64_t>> output_hashes_;  // By edge and producer; empty: none is known.
  TimePoint now_{};
  std::vector<uint32_t> first_of_vertex_;  // One more than there are vertices.
  std::vector<Execution> executions_;
  std::array<uint32_t, 10> state_counts_{};
  std::vector<ConsumedPartitionGroup> groups_;  // By edge, ascending ranges.
  std::vector<ConsumerVertexGroup> consumers_;
  std::vector<uint32_t> first_group_of_edge_;  // One more than there are edges.
  std::vector<std::vector<DatasetId>> inputs_;
  std::vector<std::vector<DatasetId>> outputs_;
  uint64_t build_steps_ = 0;
};

}  // namespace freshet
