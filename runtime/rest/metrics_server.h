#pragma once

#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/status.h"
#include "runtime/metrics/metric_registry.h"
#include "runtime/rest/http_server.h"

namespace freshet::rest {

/// `GET /metrics`: all metrics of a process for Prometheus, read when they are asked for. Counts
/// itself, too.
class MetricsServer {
 public:
  static constexpr size_t kThreadsMax = 8;

  struct Options {
    std::string host;
    PortRange ports;                                // The first that is free.
    MetricScope scope = MetricScope::kTaskManager;  // Of what it counts itself.
    MetricLabels labels;
  };

  /// kUnavailable, naming the ports, when there is none.
  static Result<std::unique_ptr<MetricsServer>> start(const Options&,
                                                      std::shared_ptr<MetricRegistry>,
                                                      const Clock&);

  const Address& address() const { return http_->address(); }

 private:
  class Endpoint;
  MetricsServer() = default;

  std::shared_ptr<Endpoint> endpoint_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace freshet::rest
