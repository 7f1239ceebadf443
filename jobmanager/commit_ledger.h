#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "jobmanager/job_commands.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet {

/// Sees to it that every committable of a finished job is published, whatever TaskManagers are lost
/// or silent meanwhile. Pure. See "Commit of results" in DESIGN_NOTES.md.
class CommitLedger {
 public:
  static constexpr uint32_t kTriesMax = 5;        // With an error or no answer; a loss is none.
  static constexpr Duration kRetryDelay = 200ms;  // After an error; doubles with each try.
  static constexpr Duration kAnswerTimeout = 60s;
  static constexpr uint64_t kRequestBytesMax = 16u << 20;  // Unless one committable has more.

  /// What one TaskManager's tasks left; more than kRequestBytesMax becomes several requests. Before
  /// the first dispatch().
  void add(TaskManagerId producer, std::vector<JobCommittable> committables);

  /// Gives up waiting for answers that are overdue: the next dispatch() asks somebody else, if
  /// there is one.
  void expire(TimePoint now);

  /// What can be sent now: to who produced it, else to another of `available`. Nothing is sent
  /// twice without reason.
  JobCommands dispatch(TimePoint now, std::span<const TaskManagerId> available);

  /// Its requests are sent again by the next dispatch().
  void on_task_manager_lost(TaskManagerId);

  /// The answer to one request. One that is not from who was asked is ignored; so is an error that
  /// comes after its time, but not a success.
  void on_done(TimePoint now, TaskManagerId from, uint64_t commit_id, const Status& status);

  /// True when all is published.
  bool empty() const { return batches_.empty(); }
  /// Requests that were sent and not answered.
  size_t outstanding() const;
  /// Set when one had an error too often; final.
  const std::optional<Status>& failure() const { return failure_; }
  /// When expire() and dispatch() have something to do.
  std::optional<TimePoint> deadline() const;

 private:
  struct Request {
    TaskManagerId to;
    uint64_t commit_id = 0;
    bool operator==(const Request&) const = default;
  };
  struct Batch {
    TaskManagerId producer;
    std::vector<JobCommittable> committables;
    std::optional<Request> asked;
    TimePoint answer_due;          // Of `asked`.
    std::vector<Request> overdue;  // May be answered yet; fewer than kTriesMax.
    uint32_t failed_tries = 0;
    std::optional<TimePoint> retry_at;
  };

  static TaskManagerId choose(uint32_t number, const Batch&, std::span<const TaskManagerId>);
  void count_try(Batch&, const Status& why);

  std::map<uint32_t, Batch> batches_;  // By order of add(); without those published.
  uint32_t next_batch_ = 0;
  uint64_t next_commit_id_ = 1;
  std::optional<Status> failure_;
};

}  // namespace freshet
