#pragma once

#include <memory>
#include <system_error>

#include "network/asio_io_loop.h"
#include "network/transport.h"

namespace asio {
class any_io_executor;
template <class Protocol, class Executor>
class basic_stream_socket;
namespace ip {
class tcp;
}
}  // namespace asio

namespace freshet {

/// Asio's `ip::tcp::socket`, named without its headers.
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, asio::any_io_executor>;

/// kUnavailable, with the address.
Status network_error(const Address&, const std::error_code&);

/// A connection over a connected socket of the loop's context.
std::shared_ptr<Connection> make_asio_connection(std::shared_ptr<IoLoop>, TcpSocket,
                                                 Address remote);

}  // namespace freshet
