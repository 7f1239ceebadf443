#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/app/cluster_state.h"
#include "runtime/app/control_client.h"

namespace freshet::cli {

/// Which JobManager a command speaks to.
struct ClusterSelection {
  std::string cluster;      // Name of a cluster of this machine.
  std::string job_manager;  // HOST:PORT; instead of a name.
  std::string state_directory;
  std::string secret;

  void add_options(CLI::App& parser);
  bool is_given() const {
    return !cluster.empty() || !job_manager.empty() || !state_directory.empty();
  }

  /// Without either: the cluster called `default` if there is one, else the default port on
  /// loopback.
  Result<Address> address() const;
};

/// `--state-dir`, or the default place.
Result<std::string> state_directory_or_default(const std::string& given);

/// The directory of a cluster, refused when others than this user could have written in it.
Result<ClusterDirectory> cluster_directory(const std::string& state_directory,
                                           const std::string& name);

/// A connection, with the transport that it needs.
class ClusterConnection {
 public:
  static Result<std::unique_ptr<ClusterConnection>> connect(const ClusterSelection&);
  ~ClusterConnection();

  ControlClient& client() { return *client_; }
  const Clock& clock() const { return *clock_; }

 private:
  ClusterConnection();

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ControlClient> client_;  // Last: closed before the transport.
};

}  // namespace freshet::cli
