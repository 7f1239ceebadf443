#pragma once

#include <memory>
#include <system_error>

#include "network/asio_io_loop.h"
#include "network/transport.h"

namespace asio {
class any_io_executor;
template <class Protocol, class Executor>
class basic_stream_socket;
namespace generic {
class stream_protocol;
}
}  // namespace asio

namespace freshet {

/// Asio's `generic::stream_protocol::socket`, named without its headers: TCP or a Unix socket.
using StreamSocket =
    asio::basic_stream_socket<asio::generic::stream_protocol, asio::any_io_executor>;

/// kUnavailable, with the address.
Status network_error(const Address&, const std::error_code&);

/// A connection over a connected socket of the loop's context.
std::shared_ptr<Connection> make_asio_connection(std::shared_ptr<IoLoop>, StreamSocket,
                                                 Address remote);

}  // namespace freshet
