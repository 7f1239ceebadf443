#pragma once

#include "network/transport.h"
#include "runtime/base/configuration.h"

namespace freshet {

/// The environment variable that gives security.secret to a process. Unlike a command line, only
/// the same user can read it.
inline constexpr char kSecretVariable[] = "FRESHET_SECRET";

/// Refuses to bind beyond loopback unless `security.secret` is set: whoever reaches a port can run
/// code.
Status check_bind(const Address&, const Configuration&);

}  // namespace freshet
