#pragma once

#include <optional>
#include <string>

#include "network/transport.h"
#include "runtime/base/status.h"

namespace freshet {

/// What a process writes once its ports are open, for those who look for it:
///
///   file := address ("rest" address)? ("metrics" address)?     each on a line of its own
struct PortFile {
  Address address;                 // Control port of a JobManager, data port of a TaskManager.
  std::optional<Address> rest;     // Of a JobManager.
  std::optional<Address> metrics;  // For Prometheus.
};

std::string to_text(const PortFile&);
/// Lines that it does not know are passed over.
Result<PortFile> parse_port_file(const std::string& text);

/// As people read them: `http://127.0.0.1:9249/metrics`.
std::string metrics_url(const Address&);

}  // namespace freshet
