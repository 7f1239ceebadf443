#pragma once

#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/app/process_host.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"

namespace freshet {

/// Tells JobManagers how processes of TaskManagers ended, on a thread of its own: a JobManager that
/// does not answer holds up nobody.
class ExitReporter {
 public:
  ExitReporter(std::string secret, std::string host_id, const Clock&);
  ~ExitReporter();

  /// Returns at once.
  void report(const Address& job_manager, const ProcessExit&);

 private:
  Status send(const Address& job_manager, const ProcessExit&);

  const std::string secret_;
  const std::string host_id_;
  const Clock& clock_;
  const std::unique_ptr<Transport> transport_;
  ThreadExecutor thread_;
};

}  // namespace freshet
