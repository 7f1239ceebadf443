#include "runtime/app/metrics_endpoint.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

Result<std::unique_ptr<rest::MetricsServer>> start_metrics_server(
    const Configuration& configuration, MetricScope scope, const MetricLabels& labels,
    std::shared_ptr<MetricRegistry> registry, const Clock& clock) {
  ASSIGN_OR_RETURN(const auto ports, configuration.ports(config::kPrometheusPort));
  if (!ports) return std::unique_ptr<rest::MetricsServer>();
  rest::MetricsServer::Options options;
  options.host = configuration.text(config::kBindHost);
  options.ports = *ports;
  options.scope = scope;
  options.labels = labels;
  auto server = rest::MetricsServer::start(options, std::move(registry), clock);
  if (!server.ok()) return server.status().with_context(std::string(config::kPrometheusPort.name));
  LOG_INFO("metrics_started", {{"address", (*server)->address().to_string()}});
  return server;
}

std::string host_label(const Address& bound) {
  if (!bound.is_wildcard()) return bound.host;
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : bound.host;
}

Status check_metrics_ports(const Configuration& configuration, uint32_t processes) {
  ASSIGN_OR_RETURN(const auto ports, configuration.ports(config::kPrometheusPort));
  if (!ports || ports->first == 0) return Status();
  const uint32_t count = ports->last - ports->first + 1u;
  if (count >= processes) return Status();
  return invalid_argument(fmt::format(
      "{}: {} processes on one machine need as many ports, and '{}' has {}; set it to a "
      "range such as {}-{}, or to 0 for any free ones",
      config::kPrometheusPort.name, processes, configuration.text(config::kPrometheusPort), count,
      ports->first, std::min(65'535u, ports->first + 99u)));
}

}  // namespace freshet
