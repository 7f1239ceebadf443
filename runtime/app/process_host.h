#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace freshet {

/// One process, for as long as this machine runs: a process id is given again after its owner has
/// ended, an id together with a start time is not.
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // Clock ticks from boot to the start.
  bool operator==(const ProcessIdentity&) const = default;
};

/// A child that has ended.
struct ProcessExit {
  ProcessIdentity process;
  bool success = false;
  std::string how;         // `exit code 1`, `signal 9 (Killed)`.
  bool by_itself = false;  // Not by a signal.
};

/// A process that was stopped does nothing, not even end when asked, until it is continued or
/// killed.
enum class ProcessSignal { kTerminate, kKill, kInterrupt, kStop, kContinue };

/// Starts and ends processes. An interface, so that a supervisor can be tested without any.
class ProcessHost {
 public:
  struct Command {
    std::string program;
    std::vector<std::string> arguments;  // Without the program's name.
    std::string output_path;   // Receives standard output and error, appended; empty: inherited.
    bool new_session = false;  // Detached from the terminal.
    std::map<std::string, std::string> environment = {};  // Besides this process' own.
  };

  virtual ~ProcessHost() = default;

  /// Standard input is empty. Signals that this process blocks are not blocked in the child.
  virtual Result<ProcessIdentity> spawn(const Command&) = 0;

  /// Children that have ended since the last call; does not wait.
  virtual std::vector<ProcessExit> reap() = 0;

  /// False for a process that has ended, also when nobody has reaped it or its id belongs to
  /// another one now.
  virtual bool alive(const ProcessIdentity&) const = 0;

  /// Does nothing when the process is not alive.
  virtual void send_signal(const ProcessIdentity&, ProcessSignal) = 0;
};

/// The processes of this machine.
std::unique_ptr<ProcessHost> make_system_process_host();

/// This process.
ProcessIdentity own_process();

/// The file of the running program.
Result<std::string> own_program_path();

/// Makes the kernel kill this process as soon as its parent has ended. kAborted when `parent` has
/// ended already.
Status end_with_parent(pid_t parent);

}  // namespace freshet
