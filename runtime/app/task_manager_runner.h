#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "network/transport.h"
#include "runtime/app/task_manager_metrics.h"
#include "runtime/app/temp_roots.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "runtime/graph/job_module.h"
#include "runtime/task/worker_pool.h"
#include "shuffle/shuffle_environment.h"
#include "taskmanager/last_words.h"
#include "taskmanager/task_executor.h"

namespace freshet {

/// A TaskManager on threads of its own, over any transport.
class TaskManagerRunner {
 public:
  struct Options {
    Configuration configuration;
    Address job_manager;
    Address bind;                      // Data port.
    uint16_t bind_port_last = 0;       // From bind.port on, the first that is free; 0: that one.
    uint16_t external_data_port = 0;   // That others are told; 0: the one that is bound.
    std::optional<Address> unix_bind;  // Beside it, for TaskManagers of the same host.
    std::string name;
    std::string state_directory;
    std::string log_path;
    uint32_t slots = 1;
    /// A task does not end; only the end of this process ends it. Called on the main thread.
    /// Empty: ends the process.
    std::function<void(const Status&)> on_fatal;
    std::function<void()> check_process;  // Called several times a second, on the main thread.
  };

  /// Opens the data port and begins to register. `faults` may be null.
  static Result<std::unique_ptr<TaskManagerRunner>> start(const Options&, Transport&, Clock&,
                                                          FileSystem&, ModuleLoader&,
                                                          Faults* faults);
  ~TaskManagerRunner();

  Address data_address() const { return shuffle_->data_address(); }

  /// This process ends by a crash: tells the JobManager, in bounded time. False when the threads of
  /// the runner stand still. Not on one of them.
  bool report_crash(const CrashReport&);
  /// Likewise, after that: by threads of its own. `transport` lives for ever.
  void say_last_words(const CrashReport&, Transport& transport);

  /// Those of the process and of its tasks; the process' are none any more after stop().
  const std::shared_ptr<MetricRegistry>& metrics() const { return metrics_; }
  /// As they stand in front of all that it has.
  const MetricLabels& metric_labels() const { return labels_; }

  /// Ends its tasks and waits for them and the threads. Once or not at all.
  void stop();

 private:
  TaskManagerRunner(size_t workers, Clock&);

  void check_again_and_again(const std::function<void()>& check);
  /// Runs `function` on the main thread and waits for it.
  void run_on_main(UniqueFunction<void()> function);

  const std::unique_ptr<Random> random_;
  const std::shared_ptr<MetricRegistry> metrics_ = std::make_shared<MetricRegistry>();
  MetricLabels labels_;
  std::shared_ptr<TaskManagerMetrics> status_;  // Outlives `executor_`.
  const Clock& clock_;
  ThreadExecutor main_;
  ThreadExecutor io_;
  TempRoots temp_;
  ThreadExecutor spill_;  // Apart, so that deployments do not wait for what is spilled.
  WorkerPool workers_;
  LastWords::Options last_words_;
  std::unique_ptr<ShuffleEnvironment> shuffle_;  // Null when it could not start.
  std::unique_ptr<TaskExecutor> executor_;       // Belongs to the main thread. Null likewise.
  bool stopped_ = false;
};

}  // namespace freshet
