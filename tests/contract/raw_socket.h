#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "network/transport.h"

namespace freshet {

/// A TCP socket of somebody who is not one of us, or lies.
class RawSocket {
 public:
  /// Connects.
  explicit RawSocket(const Address& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in to = to_socket_address(address);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  /// One that was accepted.
  explicit RawSocket(int socket) : socket_(socket) {}
  ~RawSocket() { ::close(socket_); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  void say(std::string_view bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Waits for some bytes; none when the peer has ended the connection.
  std::string hear() {
    std::string bytes(4096, '\0');
    const ssize_t received = ::recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(received > 0 ? static_cast<size_t>(received) : 0);
    return bytes;
  }
  /// Waits until the peer ends the connection; it must say nothing.
  void expect_end() {
    char byte = 0;
    EXPECT_LE(::recv(socket_, &byte, 1, 0), 0);
  }
  /// The same, whatever it says before.
  void wait_for_end() {
    while (!hear().empty()) {
    }
  }
  bool has_ended() {
    char byte = 0;
    const ssize_t received = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
    return received == 0 || (received < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

  int descriptor() const { return socket_; }

  static sockaddr_in to_socket_address(const Address& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    EXPECT_EQ(::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr), 1);
    return to;
  }

 private:
  const int socket_;
};

/// A port of such somebody.
class RawListener {
 public:
  RawListener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at = RawSocket::to_socket_address({"127.0.0.1", 0});
    socklen_t size = sizeof(at);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
  }
  ~RawListener() { ::close(socket_); }
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;

  Address address() const { return {"127.0.0.1", port_}; }
  /// Waits for the next that connects.
  int accept() { return ::accept(socket_, nullptr, nullptr); }

 private:
  const int socket_;
  uint16_t port_ = 0;
};

}  // namespace freshet
