#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/app/descriptor_watch.h"
#include "runtime/app/task_manager_runner.h"
#include "runtime/base/configuration.h"
#include "runtime/rest/metrics_server.h"

namespace freshet {

/// A TaskManager as a process has it: over TCP, with the machine's clock and files and modules from
/// shared objects.
class TaskManagerProcess {
 public:
  struct Options {
    Configuration configuration;
    Address job_manager;
    std::string name;
    std::string state_directory;
    std::string log_path;
    bool allow_faults = false;
  };

  /// What can be refused before anything is made: a bind beyond loopback, a fault. start() does it,
  /// too.
  static Status check(const Options&);
  static Result<std::unique_ptr<TaskManagerProcess>> start(const Options&);
  ~TaskManagerProcess();

  Address data_address() const { return runner_->data_address(); }

  /// Where its metrics are for Prometheus; nullopt when nobody wants them.
  std::optional<Address> metrics_address() const {
    return metrics_ ? std::optional(metrics_->address()) : std::nullopt;
  }

  /// Ends its tasks and connections, and waits for the threads.
  void stop();

 private:
  explicit TaskManagerProcess(std::unique_ptr<FileSystem> files);

  DescriptorWatch descriptors_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<ModuleLoader> modules_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<TaskManagerRunner> runner_;  // Ends before what it uses.
  std::unique_ptr<rest::MetricsServer> metrics_;
};

}  // namespace freshet
