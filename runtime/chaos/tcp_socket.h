#pragma once

#include <cstddef>
#include <optional>

#include "network/transport.h"

namespace freshet::chaos {

/// Both ends of a TCP connection, as the process at `local` sees it. IPv4.
struct ConnectionEnds {
  Address local;
  Address remote;
  bool operator==(const ConnectionEnds&) const = default;
};

/// A TCP socket over IPv4 that never blocks; children do not inherit it.
class TcpSocket {
 public:
  /// Takes the descriptor.
  explicit TcpSocket(int descriptor) : descriptor_(descriptor) {}
  TcpSocket(TcpSocket&& other) noexcept;
  TcpSocket& operator=(TcpSocket&&) = delete;
  ~TcpSocket();

  /// On any free port. `host` is an address in figures.
  static Result<TcpSocket> listen(const std::string& host);
  /// Begins to connect; is_connected() tells the end, once the socket can be written to.
  static Result<TcpSocket> connect(const Address&);
  Result<bool> is_connected() const;

  /// Nullopt when nobody waits. kResourceExhausted: this process has no descriptor left.
  Result<std::optional<TcpSocket>> accept() const;

  int descriptor() const { return descriptor_; }
  Address local_address() const;
  Address peer_address() const;
  /// True when the peer has ended its stream, whether or not that was read, or the connection has
  /// failed.
  bool peer_has_gone() const;
  /// Ends the connection so that the peer sees an error, not the end of a stream.
  void reset();

 private:
  int descriptor_;  // -1: moved from or reset.
};

}  // namespace freshet::chaos
