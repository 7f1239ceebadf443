#pragma once

#include <memory>
#include <string>

#include "runtime/app/job_manager_runner.h"
#include "runtime/base/configuration.h"

namespace freshet {

/// A JobManager as a process has it: over TCP, with the machine's clock and files.
class JobManagerProcess {
 public:
  struct Options {
    Configuration configuration;
    std::string state_directory;
    bool allow_faults = false;
  };

  /// What can be refused before anything is made: a bind beyond loopback, a fault. start() does it,
  /// too.
  static Status check(const Options&);
  static Result<std::unique_ptr<JobManagerProcess>> start(const Options&);
  ~JobManagerProcess();

  Address control_address() const { return control_address_; }

  /// Closes the port and all connections, and waits for the threads.
  void stop();

 private:
  JobManagerProcess();

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<JobManagerRunner> runner_;  // Last: ends before what it uses.
  Address control_address_;
};

}  // namespace freshet
