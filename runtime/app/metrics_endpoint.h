#pragma once

#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/status.h"
#include "runtime/metrics/metric_registry.h"
#include "runtime/rest/metrics_server.h"

namespace freshet {

/// The endpoint for Prometheus that the settings want; null when they want none. Whether it may be
/// bound there is for check_bind() to say, as of every port of a process.
Result<std::unique_ptr<rest::MetricsServer>> start_metrics_server(const Configuration&, MetricScope,
                                                                  const MetricLabels&,
                                                                  std::shared_ptr<MetricRegistry>,
                                                                  const Clock&);

/// Of a process that is bound there: the name of the machine when that is all of its addresses.
std::string host_label(const Address& bound);

/// kInvalidArgument when `processes` of one machine have too few ports for it.
Status check_metrics_ports(const Configuration&, uint32_t processes);

}  // namespace freshet
