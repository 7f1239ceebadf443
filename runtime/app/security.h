#pragma once

#include "network/transport.h"
#include "runtime/base/configuration.h"

namespace freshet {

/// Refuses to bind beyond loopback unless `security.secret` is set: whoever reaches a port can run
/// code.
Status check_bind(const Address&, const Configuration&);

}  // namespace freshet
