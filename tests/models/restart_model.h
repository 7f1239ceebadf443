#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/job_graph.h"

namespace freshet {

/// Follows the lines that a JobManager logs about one job (env.log.level=debug), and says by
/// definition which regions must run again after each failure: those of tasks that failed; those
/// that made what is lost and somebody still wants; and those that are reading what is made again,
/// and have not said that they took all of it.
/// It knows every pair of producer and consumer, and nothing of how the JobManager plans.
class RestartModel {
 public:
  RestartModel(std::string job, const JobGraph& graph);

  /// One line of the log, in order.
  void read(std::string_view line);
  /// After the last one.
  void end();

  /// Failures that made something run again.
  uint32_t rounds() const { return rounds_; }
  /// Tasks that ran again, and those that had begun and were let alone, over all rounds.
  uint32_t restarted() const { return restarted_; }
  uint32_t spared() const { return spared_; }
  /// Of the latter, those that went on though something that they had read was made again.
  uint32_t readers_spared() const { return readers_spared_; }
  /// Of a job that was never cancelled and did not fail.
  bool finished() const;
  /// Sentences for people.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Pair {
    DatasetId dataset;
    uint32_t other = 0;  // Index of the task at the other end.
  };
  struct Task {
    SubtaskId name;
    uint32_t region = 0;
    uint32_t attempt = 0;
    bool begun = false;
    bool ended = false;
    bool lost = false;      // It has ended, and nobody has what it made.
    bool restarts = false;  // It is decided that there will be a new attempt.
    std::string place;
    std::set<DatasetId> read;      // Inputs of which it has said that it took all.
    std::set<DatasetId> released;  // Of what it made: what is not kept.
    std::vector<Pair> producers;   // Over blocking edges.
    std::vector<Pair> consumers;
  };

  void read_job_state(const std::string& state);
  void read_attempt(std::string_view line, uint32_t index, uint32_t attempt);
  void on_state(uint32_t index, uint32_t attempt, const std::string& state);
  void on_deployed(Task& task, uint32_t attempt, const std::string& place);
  void on_released(DatasetId, IndexRange producers);
  void on_task_manager_lost(const std::string& place);
  void on_output_differs(uint32_t index, const std::set<DatasetId>& differ);
  void expect_restart(const std::set<uint32_t>& failed, const std::vector<uint32_t>& lost);
  void close(std::set<uint32_t>* regions) const;
  bool is_wanted(const Task&) const;
  bool has_read(const Pair&) const;
  bool has_begun(uint32_t region) const;
  bool has_ended(uint32_t region) const;
  void compare();
  std::string text_of(const std::set<uint32_t>& regions) const;

  std::string job_;
  std::vector<uint32_t> first_of_vertex_;
  std::vector<JobEdge> edges_;
  std::vector<Task> tasks_;
  std::vector<std::vector<uint32_t>> members_;  // By region.
  std::optional<std::set<uint32_t>> expected_;  // Regions of the round whose lines are being read.
  std::set<uint32_t> seen_;
  std::set<uint32_t> failed_;   // Tasks.
  std::vector<uint32_t> lost_;  // Tasks.
  bool stops_ = false;          // It is cancelled, fails or has ended: nothing runs again.
  bool publishes_ = false;
  uint32_t rounds_ = 0;
  uint32_t restarted_ = 0;
  uint32_t spared_ = 0;
  uint32_t readers_spared_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace freshet
