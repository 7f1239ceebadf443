#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/transport.h"
#include "runtime/app/process_host.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// Where a cluster of this machine keeps its files: `<base>/<name>/`. Values copy.
class ClusterDirectory {
 public:
  /// The name becomes part of paths: letters, digits, `-`, `_` and `.`, at most 64, not starting
  /// with a dot.
  static Result<ClusterDirectory> of(const std::string& base, const std::string& name);

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  const std::string& base() const { return base_; }
  /// What a start that failed leaves for its user to read.
  std::string failed_path() const { return base_ + "/.failed-" + name_; }
  std::string state_file() const { return path_ + "/state"; }
  std::string log_of(const std::string& process) const { return path_ + "/" + process + ".log"; }
  std::string output_of(const std::string& process) const { return path_ + "/" + process + ".out"; }
  std::string port_file_of(const std::string& process) const {
    return path_ + "/" + process + ".port";
  }
  std::string files_of(const std::string& process) const { return path_ + "/" + process; }
  /// A directory: who makes it has the supervisor start that TaskManager, once.
  std::string wish_for(const std::string& process) const { return path_ + "/" + process + ".wish"; }

 private:
  ClusterDirectory(std::string base, std::string name)
      : base_(std::move(base)), name_(std::move(name)), path_(base_ + "/" + name_) {}

  std::string base_;
  std::string name_;
  std::string path_;
};

inline constexpr std::string_view kSupervisorName = "supervisor";
inline constexpr std::string_view kJobManagerName = "jobmanager";

/// `taskmanager-1`, and so on.
std::string task_manager_name(size_t number);

/// `$FRESHET_STATE_DIR`, else `$XDG_STATE_HOME/freshet`, else `~/.local/state/freshet`.
Result<std::string> default_state_directory();

/// ` <name_option> NAME --state-dir DIR`, to show in a command that is about this cluster; without
/// what commands take by themselves.
std::string options_for(const ClusterDirectory&, std::string_view name_option);

struct ClusterProcess {
  std::string name;
  ProcessIdentity process;  // Of the last start.
  bool running = false;
  uint32_t restarts = 0;
  std::optional<Address> address;  // Control port of the JobManager, data port of a TaskManager;
                                   // nullopt: not open yet.
  bool operator==(const ClusterProcess&) const = default;
};

/// What the supervisor leaves in the state file for `stop`, `status` and clients.
struct ClusterState {
  std::string boot;  // Processes of another boot are gone, whatever their ids.
  ProcessIdentity supervisor;
  std::vector<ClusterProcess> processes;
  bool operator==(const ClusterState&) const = default;

  const ClusterProcess* find(std::string_view name) const;
};

/// One line per fact, words separated by blanks:
///
///   file       := "freshet-cluster 1" boot supervisor process*
///   boot       := "boot" id
///   supervisor := "supervisor" pid start_ticks
///   process    := "process" name pid start_ticks ("running" | "dead") restarts (address | "-")
///
/// Anything else is kDataLoss, with the line: what is read here decides who gets signals.
std::string to_text(const ClusterState&);
Result<ClusterState> parse_cluster_state(const std::string& text);

/// kNotFound when there is no such cluster.
Result<ClusterState> read_cluster_state(const ClusterDirectory&, FileSystem&);

}  // namespace freshet
