#pragma once

#include <cstddef>
#include <memory>

#include "network/transport.h"

namespace freshet {

struct AsioTransportOptions {
  size_t threads = 1;  // At least one. A connection lives on one of them for life.
};

/// TCP over I/O threads of its own.
///
/// Beyond what Transport promises:
/// - The destructor closes listeners and connections, lets each handler hear on_closed() and each
///   connect() its end (kAborted), and joins. It must not run on one of the transport's threads.
///   Connections held longer do nothing.
/// - A Listener's destructor waits for an accept handler that is running, unless that one destroys
///   it.
/// - close() by this side is orderly when no send() is under way: the peer receives all that
///   on_sent() confirmed, even if it is sending itself. Otherwise the peer sees a reset.
std::unique_ptr<Transport> make_asio_transport(const AsioTransportOptions& options);

}  // namespace freshet
