#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/ids.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/graph/provoked_failure.h"
#include "runtime/graph/task_state.h"

namespace freshet {

/// What is handed to a JobManager to run. The module's bytes were stored before, under their hash.
struct Submission {
  std::string name;
  std::string module_hash;
  BuildOptions build;
  uint64_t fingerprint = 0;
  JobGraph graph;
};

/// One job as a client sees it.
struct JobReport {
  JobId id;
  std::string name;
  JobState state = JobState::kCreated;
  EpochMillis submitted = 0;
  EpochMillis ended = 0;  // 0: not yet.
  uint32_t tasks = 0;
  uint32_t tasks_running = 0;
  uint32_t tasks_finished = 0;
  uint32_t restarts = 0;
  uint64_t source_records = 0;  // Of the present execution.
  Status cause;                 // Of the latest failure.
  std::string waiting_for;      // Why it does not run yet; may be empty.
  bool tidying = false;         // It has ended, and TaskManagers still remove what it left.
};

/// The present attempt of one subtask, with what it last said of itself.
struct TaskReport {
  AttemptId attempt;
  std::string name;  // Of its vertex.
  TaskState state = TaskState::kCreated;
  TaskManagerId task_manager;  // Of none before it is scheduled.
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t source_records = 0;
  // Together its life so far, in milliseconds.
  uint64_t busy_ms = 0;
  uint64_t idle_ms = 0;
  uint64_t back_pressured_ms = 0;
  // By its last heartbeat: how late records with a scheduled time came to its sink since the one
  // before.
  uint64_t latency_records = 0;  // 0: the next three have no meaning.
  double latency_p50_ms = 0;
  double latency_p95_ms = 0;
  double latency_max_ms = 0;
};

struct JobDetails {
  JobReport job;
  std::vector<TaskReport> tasks;  // By vertex and subtask; the first 10,000.
};

struct TaskManagerReport {
  TaskManagerId id;
  std::string name;
  std::string data_address;
  uint32_t pid = 0;
  uint32_t slots = 0;
  uint32_t slots_free = 0;
};

/// Speaks to a JobManager for a command line or a test. Its functions wait for the answer, each no
/// longer than the request timeout; they must not be called on a thread of the transport.
/// Thread-safe.
class ControlClient {
 public:
  struct Options {
    Address job_manager;
    std::string secret;
    Duration connect_timeout = 5s;
    Duration request_timeout = 30s;
  };

  /// kUnavailable, with what to do, when nobody answers there.
  static Result<std::unique_ptr<ControlClient>> connect(const Options&, Transport&, const Clock&);

  /// Closes the connection; requests under way end with kAborted.
  ~ControlClient();

  /// Stores a module under its content's hash. Ok too when it is stored already.
  Status put_blob(const std::string& hash, std::string_view bytes);
  Result<JobId> submit(const Submission&);
  Result<std::vector<JobReport>> list();
  Result<JobReport> get(const JobId&);
  Result<JobDetails> details(const JobId&);
  Status cancel(const JobId&);
  /// Has the present attempt of a subtask fail. `vertex`: its number or its name. Returns who that
  /// is, for people.
  Result<std::string> fail_task(const JobId&, const std::string& vertex, uint32_t subtask,
                                ProvokedFailure);
  Result<std::vector<TaskManagerReport>> task_managers();
  /// Says how a process ended that was a TaskManager, so that this is the cause of what it costs.
  /// Nothing happens when it was none, or is lost already.
  Status process_ended(const std::string& host_id, uint32_t pid, const std::string& how);

 private:
  class Session;

  explicit ControlClient(std::unique_ptr<Session>);

  std::unique_ptr<Session> session_;
};

}  // namespace freshet
