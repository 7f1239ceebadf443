#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/transport.h"
#include "runtime/app/control_client.h"
#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_executor.h"

namespace freshet::chaos {

/// Asks a JobManager again and again how its job and its TaskManagers are, on a thread of its own:
/// one that stands still, is dead or behind a broken link holds up nobody else. Thread-safe.
class JobWatch {
 public:
  static constexpr Duration kInterval = 20ms;  // From an answer to the next question.

  struct Options {
    Address job_manager;
    std::string secret;
    bool tasks = false;  // Of each task, too: more to ask, and not needed by everybody.
  };

  /// What is known.
  struct View {
    Status submitted = unavailable("not submitted yet");
    std::optional<TimePoint> submission_began;
    JobId job;
    std::optional<JobReport> report;  // The last answer.
    std::vector<TaskReport> tasks;    // If they are asked for.
    std::vector<TaskManagerReport> task_managers;
    bool answers = false;    // The last question was answered.
    bool forgotten = false;  // The JobManager does not know the job any more.
  };

  /// The same without what is large.
  struct Brief {
    Status submitted;
    std::optional<TimePoint> submission_began;
    std::optional<JobReport> job;
    bool answers = false;
    bool forgotten = false;
  };

  JobWatch(Options, const Clock&);
  ~JobWatch();

  View view() const;
  Brief brief() const;

  /// Once all of `task_managers` have registered. The result is in the view.
  void submit(Submission, std::string module_bytes, size_t task_managers);
  /// Has a task of the job fail. Its result is that of `outcome_of` once it has come.
  uint64_t fail_task(const std::string& vertex, uint32_t subtask, ProvokedFailure);
  std::optional<Result<std::string>> outcome_of(uint64_t request) const;
  void cancel();

 private:
  struct Pending {
    Submission submission;
    std::string module_bytes;
    size_t task_managers = 0;
  };

  void tick();
  Status ask();
  Status submit_pending();
  Result<ControlClient*> client();

  const Options options_;
  const Clock& clock_;
  const std::unique_ptr<Transport> transport_;
  std::unique_ptr<ControlClient> client_;  // Of the thread.
  std::optional<Pending> pending_;         // Of the thread.
  mutable Mutex mutex_;
  View view_ GUARDED_BY(mutex_);
  std::map<uint64_t, Result<std::string>> outcomes_ GUARDED_BY(mutex_);
  uint64_t next_request_ GUARDED_BY(mutex_) = 1;
  ThreadExecutor thread_;  // Last: it uses all others.
};

}  // namespace freshet::chaos
