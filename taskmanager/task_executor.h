#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/crash_report.h"
#include "runtime/base/executor.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/ids.h"
#include "runtime/base/random.h"
#include "runtime/graph/job_module.h"
#include "runtime/metrics/metric_registry.h"
#include "runtime/metrics/numbers.h"
#include "runtime/task/runnable_task.h"
#include "runtime/task/task_recorder.h"
#include "shuffle/shuffle_environment.h"
#include "taskmanager/task_builder.h"

namespace freshet {

/// The TaskManager: registers its slots with the JobManager, runs what it is told to, reports every
/// state of every task once and in order. When it loses the JobManager it ends all its tasks and
/// registers anew; jobs of a JobManager that is gone are cleaned up before that.
///
/// Belongs to the thread of `main`: created, started, stopped and destroyed there. It never blocks;
/// files, user builders and committers are the I/O executor's, tasks are the runner's.
class TaskExecutor {
 public:
  struct Options {
    TaskManagerId id;
    std::string name;
    std::string host_id;  // Machine and boot.
    uint32_t slots = 1;
    uint32_t pid = 0;
    std::string log_path;
    Address job_manager;
    uint16_t external_data_port = 0;  // That others are told; 0: that of the data plane.
    std::string secret;
    std::string library_version;  // The JobManager takes its own only.
    std::string state_directory;  // Modules are stored below it.
    Duration connect_timeout = 5s;
    Duration retry_first = 100ms;  // Doubled after each failure to register, up to retry_max.
    Duration retry_max = 5s;
    Duration cancellation_timeout = 30s;
    Duration watchdog_timeout = 10s;  // Zero: no step lasts too long.
    bool channel_hash = false;        // Where the job does not say.
    ManagedMemory memory;
    uint64_t descriptor_cache_bytes = 64ull << 20;  // See GateGroupCache.
    MetricLabels labels;                            // Before those of a task.
  };
  /// All outlive the executor and, where functions are posted to them, are stopped before the
  /// others go.
  struct Environment {
    Transport& transport;
    Executor& main;
    TaskRunner& tasks;
    Executor& io;
    ModuleLoader& modules;
    FileSystem& files;
    const Clock& clock;
    Random& random;
    ShuffleEnvironment& shuffle;
    Faults* faults = nullptr;          // Null: none, and passing a mark costs nothing.
    TaskRecorder* recorder = nullptr;  // Of a simulation.
    std::function<void(const Status&)>
        on_fatal;  // On `main`: a task does not end; only the end of the process ends it.
    MetricRegistry* metrics = nullptr;  // Gets those of the tasks. Null: heartbeats tell them only.
    std::function<TaskManagerNumbers()> numbers = {};  // For heartbeats, on `main`; may be empty.
  };

  TaskExecutor(Options options, const Environment& environment);

  /// What is still running is dropped, without a word to the JobManager: stop() is the orderly way.
  ~TaskExecutor();

  /// Connects, and goes on trying.
  void start();

  /// Ends all tasks, then the connection; `done` runs on `main` when nothing is left. Once.
  void stop(std::function<void()> done);

  /// The process is about to end by a crash: tells the JobManager, and nothing else any more;
  /// `done` runs on `main` when that has left.
  void report_crash(const CrashReport&, std::function<void()> done);

  bool registered() const;
  uint32_t free_slots() const;
  size_t hosted_tasks() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet
