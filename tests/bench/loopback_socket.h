#pragma once

#include <netinet/in.h>

#include "runtime/base/status.h"

namespace freshet::bench {

/// `what`, and why the last system call failed.
Status system_error(const char* what);

/// A socket that listens on a free port of 127.0.0.1, which it puts into `address`.
Result<int> listen_on_loopback(sockaddr_in* address);

/// Connected to it, with TCP_NODELAY; negative when that fails.
int connect_without_delay(const sockaddr_in& address);

}  // namespace freshet::bench
