#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "network/transport.h"
#include "tests/fuzz/input.h"

namespace freshet::fuzz {

/// A connection whose other end is the target. Events come from deliver() and settle() only.
class Wire final : public Connection {
 public:
  void start(std::shared_ptr<ConnectionHandler> handler) override { handler_ = std::move(handler); }
  void send(std::vector<OutgoingBytes> pieces) override;
  void close() override { closing_ = true; }
  Address local_address() const override { return {"127.0.0.1", 1}; }
  Address remote_address() const override { return {"127.0.0.1", 2}; }

  /// The next bytes of the stream, into the place that the handler has for them, if it has one.
  /// Returns how many were taken; an error closes the connection, as a transport does.
  size_t deliver(std::string_view bytes);
  /// What was sent has left; a close has happened.
  void settle();
  /// The peer ends the stream.
  void end(const Status& why = Status());

  bool is_open() const { return handler_ != nullptr; }
  /// Since the last call.
  std::string take_sent() { return std::exchange(sent_, {}); }

 private:
  std::shared_ptr<ConnectionHandler> handler_;
  std::string sent_;
  bool sending_ = false;
  bool closing_ = false;
};

/// Gives out Wires: the next connection that is made, in whichever direction.
class WireTransport final : public Transport {
 public:
  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptHandler accept) override;
  void connect(const Address& address, Duration timeout, ConnectHandler done) override;

  /// Somebody connects to the last listener.
  std::shared_ptr<Wire> accept();
  /// Whoever connected first and has no answer yet gets one; null when nobody did.
  std::shared_ptr<Wire> answer();

 private:
  std::shared_ptr<AcceptHandler> accept_;
  std::vector<ConnectHandler> connecting_;
};

}  // namespace freshet::fuzz
