#include "runtime/cli/cluster_selection.h"

#include <fmt/format.h>

#include <filesystem>

#include "network/asio_transport.h"
#include "runtime/app/private_directory.h"
#include "runtime/base/configuration.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {
constexpr const char* kDefaultCluster = "default";
}

void ClusterSelection::add_options(CLI::App& parser) {
  auto* name = parser.add_option("--cluster", cluster, "Name of a cluster started on this machine")
                   ->type_name("NAME");
  parser.add_option("--jobmanager", job_manager, "Control port of a JobManager")
      ->type_name("HOST:PORT")
      ->excludes(name);
  parser
      .add_option("--state-dir", state_directory, "Where clusters of this machine keep their files")
      ->type_name("DIR");
}

Result<std::string> state_directory_or_default(const std::string& given) {
  if (given.empty()) return default_state_directory();
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(given, error).string();
  if (error) return invalid_argument(fmt::format("--state-dir {}: {}", given, error.message()));
  return absolute;
}

Result<ClusterDirectory> cluster_directory(const std::string& state_directory,
                                           const std::string& name) {
  ASSIGN_OR_RETURN(const std::string base, state_directory_or_default(state_directory));
  ASSIGN_OR_RETURN(ClusterDirectory directory, ClusterDirectory::of(base, name));
  RETURN_IF_ERROR(check_parent_directory(base));
  RETURN_IF_ERROR(check_private_directory(directory.path()));
  return directory;
}

Result<Address> ClusterSelection::address() const {
  if (!job_manager.empty()) {
    auto address = Address::parse(job_manager);
    if (!address.ok()) return address.status().with_context("--jobmanager");
    return address;
  }
  ASSIGN_OR_RETURN(const auto directory,
                   cluster_directory(state_directory, cluster.empty() ? kDefaultCluster : cluster));
  const auto files = make_local_file_system();
  const auto state = read_cluster_state(directory, *files);
  if (state.ok()) {
    const ClusterProcess* const process = state->find(kJobManagerName);
    if (process != nullptr && process->address) return *process->address;
    return unavailable(fmt::format("the cluster '{}' is not up yet", directory.name()));
  }
  if (!cluster.empty() || state.status().code() != StatusCode::kNotFound) {
    return state.status().code() == StatusCode::kNotFound
               ? not_found(fmt::format("{}; start it with 'freshet cluster start{}'",
                                       state.status().message(), options_for(directory, "--name")))
               : state.status();
  }
  ASSIGN_OR_RETURN(const int64_t port, Configuration().integer(config::kRpcPort));
  return Address{Configuration().text(config::kBindHost), static_cast<uint16_t>(port)};
}

ClusterConnection::ClusterConnection()
    : clock_(make_system_clock()), transport_(make_asio_transport({})) {}

ClusterConnection::~ClusterConnection() = default;

Result<std::unique_ptr<ClusterConnection>> ClusterConnection::connect(
    const ClusterSelection& selection) {
  ASSIGN_OR_RETURN(const Address address, selection.address());
  std::unique_ptr<ClusterConnection> connection(new ClusterConnection());
  ControlClient::Options options;
  options.job_manager = address;
  options.secret = selection.secret;
  ASSIGN_OR_RETURN(connection->client_,
                   ControlClient::connect(options, *connection->transport_, *connection->clock_));
  return connection;
}

}  // namespace freshet::cli
