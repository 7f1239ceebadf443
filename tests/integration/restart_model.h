#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet::testing {

/// Follows the log of a JobManager (env.log.level=debug) over one batch job of stages that are
/// joined by blocking all-to-all edges, so that each task is a region, and says by definition which
/// tasks must run again after each failure: those that failed; who made what is lost and somebody
/// still wants; and who is reading what is made again. Independent of the JobManager's own plan.
class RestartModel {
 public:
  RestartModel(std::string job, std::vector<uint32_t> parallelism);

  /// One line of the log, in order.
  void read(std::string_view line);

  /// Failures that made tasks run again.
  uint32_t rounds() const { return rounds_; }
  /// Tasks that ran again, and those that had begun and were let alone, over all rounds.
  uint32_t restarted() const { return restarted_; }
  uint32_t spared() const { return spared_; }
  /// What is not as it must be; also that the job has not ended.
  std::vector<std::string> problems() const;

 private:
  using Name = std::pair<uint32_t, uint32_t>;  // Stage and subtask.
  struct Task {
    uint32_t attempt = 0;
    bool begun = false;
    bool ended = false;
    bool lost = false;      // It has ended, and nobody has what it made.
    bool restarts = false;  // Until the next attempt begins.
    std::string place;
  };

  void on_deployed(Name name, uint32_t attempt, const std::string& place);
  void on_end_of_data(Name name);
  void on_released(uint32_t stage);
  void on_task_manager_lost(const std::string& place);
  void on_output_differs(Name name);
  void expect_restart(std::set<Name> failed, const std::vector<Name>& lost);
  void close(std::set<Name>* plan) const;
  bool is_wanted(Name name) const;
  void compare();
  Task& at(Name name) { return stages_[name.first][name.second]; }
  const Task& at(Name name) const { return stages_[name.first][name.second]; }

  const std::string job_;
  std::vector<std::vector<Task>> stages_;
  std::optional<std::set<Name>> expected_;  // Of the round whose lines are being read.
  std::set<Name> seen_;
  std::set<Name> failed_;
  std::vector<Name> lost_;
  uint32_t rounds_ = 0;
  uint32_t restarted_ = 0;
  uint32_t spared_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace freshet::testing
