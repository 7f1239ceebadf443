#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/app/cluster_control.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

/// Which cluster of this machine a command is about.
struct ClusterName {
  std::string name = "default";
  std::string state_directory;

  void add_options(CLI::App& parser);
  Result<ClusterDirectory> directory() const;
};

/// What such commands need of the machine.
struct ClusterTools {
  SignalWaiter signals;
  std::unique_ptr<ProcessHost> processes = make_system_process_host();
  std::unique_ptr<FileSystem> files = make_local_file_system();
  std::unique_ptr<Clock> clock = make_system_clock();

  ClusterControl control(const ClusterDirectory& directory) {
    return ClusterControl(directory, *processes, *files, *clock, signals);
  }
};

/// `freshet cluster add`, `kill` and `logs`.
void add_cluster_member_commands(CLI::App& cluster, std::vector<Command>& commands);
void add_cluster_log_command(CLI::App& cluster, std::vector<Command>& commands);

}  // namespace freshet::cli
