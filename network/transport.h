#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_function.h"

namespace freshet {

/// `127.0.0.1:6123`. Port 0 asks for any free one. IPv4, IPv6 in brackets, or a host name.
/// Or a Unix socket: `unix:/path/of/socket`, or `unix:@name` for one without a file.
struct Address {
  std::string host;
  uint16_t port = 0;
  std::string unix_socket = {};  // `/path` or `@name`; then there is neither host nor port.
  auto operator<=>(const Address&) const = default;

  std::string to_string() const;
  bool is_unix() const { return !unix_socket.empty(); }
  /// True for 127.0.0.0/8, ::1 and localhost, and for Unix sockets.
  bool is_loopback() const;
  /// True for 0.0.0.0 and ::, which can be listened on but not connected to.
  bool is_wildcard() const;
  static Result<Address> parse(std::string_view text);
};

/// Bytes to be sent, kept alive by `owner` until they are.
struct OutgoingBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// What a connection tells its user. All calls come one after the other on the connection's own
/// thread (for a local or simulated transport: the executor given to it), never from inside a call
/// of Connection.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;

  /// The next bytes of the stream, valid during the call. An error closes the connection with that
  /// status: bad bytes never do more than that.
  virtual Status on_bytes(std::string_view bytes) = 0;

  /// All that was given to send() has left; the time to give more. Comes once after each send().
  virtual void on_sent() = 0;

  /// Where the next bytes of the stream should go, when that is anywhere special: a transport may
  /// put as many as fit there, and gives them to on_bytes() in that place; others come as always.
  /// Asked before each read. The memory must last until on_bytes() has it, or on_closed().
  virtual std::span<char> next_place() { return {}; }

  /// Last call. `why` is ok after an orderly close by the peer, kAborted after our own close().
  virtual void on_closed(const Status& why) = 0;
};

/// An ordered stream of bytes in both directions. Thread-safe; may be dropped at any time after
/// close().
class Connection {
 public:
  virtual ~Connection() = default;

  /// Hands over the receiver of all events; nothing is read before. Once.
  virtual void start(std::shared_ptr<ConnectionHandler> handler) = 0;

  /// Sends the pieces in one gathered write. At most one send may be under way: the next one after
  /// on_sent(). On a closed connection nothing happens.
  virtual void send(std::vector<OutgoingBytes> pieces) = 0;

  /// Ends it; what was not sent is lost. on_closed() follows, once, unless it came already.
  virtual void close() = 0;

  /// Of this end: on a machine with several, the one that the peer is reached from. Of a Unix
  /// socket only the listener has an address, which is that of both ends.
  virtual Address local_address() const = 0;
  virtual Address remote_address() const = 0;
};

/// An open port; closed by its destructor. Connections accepted before live on.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual Address address() const = 0;  // With the real port.
};

using AcceptHandler = UniqueFunction<void(std::shared_ptr<Connection>)>;
using ConnectHandler = UniqueFunction<void(Result<std::shared_ptr<Connection>>)>;

/// Makes connections: Asio's TCP and Unix sockets, an in-process one for local mode, a faulty one
/// in simulation. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  /// `accept` runs on a thread of the transport for each new connection. A port in use is
  /// kAlreadyExists and names it. The file of a Unix socket on which nobody listens any more is
  /// replaced; its own is removed with the listener.
  virtual Result<std::unique_ptr<Listener>> listen(const Address& address,
                                                   AcceptHandler accept) = 0;

  /// `done` runs once on a thread of the transport, never inside this call; kUnavailable or
  /// kDeadlineExceeded names the address. A Unix socket connects processes of one user only.
  virtual void connect(const Address& address, Duration timeout, ConnectHandler done) = 0;
};

}  // namespace freshet
