#include "runtime/app/security.h"

#include <fmt/format.h>

namespace freshet {

Status check_bind(const Address& address, const Configuration& configuration) {
  if (address.is_loopback() || !configuration.text(config::kSecret).empty()) return Status();
  return invalid_argument(fmt::format(
      "refusing to bind to {}: whoever reaches this port can run code. Bind to 127.0.0.1, or set a "
      "shared secret for all processes with security.secret: in the environment variable {}, or "
      "with -D",
      address.host, kSecretVariable));
}

}  // namespace freshet
