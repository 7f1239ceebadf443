#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "network/transport.h"

namespace freshet::chaos {

inline sockaddr_in to_socket_address(const Address& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
  return to;
}

inline Address address_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  EXPECT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return {"127.0.0.1", ntohs(address.sin_port)};
}

/// A TCP socket that blocks, but not for ever: a test that waits for what never comes fails.
class Stream {
 public:
  explicit Stream(int descriptor) : descriptor_(descriptor) { limit_waits(); }
  /// Bound, not connected yet: its port is known before.
  Stream() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any = to_socket_address({"127.0.0.1", 0});
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
    limit_waits();
  }
  Stream(Stream&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Stream() { close(); }

  bool connect(const Address& address) {
    const sockaddr_in to = to_socket_address(address);
    return ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  }
  Address address() const { return address_of(descriptor_); }
  int descriptor() const { return descriptor_; }

  /// All of it; false when the connection has failed.
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  /// Exactly so many bytes; fewer when the stream ends or fails before.
  std::string hear(size_t size) {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      const ssize_t received = ::recv(descriptor_, bytes.data() + have, size - have, 0);
      if (received <= 0) break;
      have += static_cast<size_t>(received);
    }
    bytes.resize(have);
    return bytes;
  }
  /// Nothing is there to be read, not even an end, after as long as that.
  bool silent_for(int millis) {
    pollfd one{descriptor_, POLLIN, 0};
    return ::poll(&one, 1, millis) == 0;
  }
  enum class End { kOrderly, kReset, kNone };
  /// What comes next must be the end.
  End end() {
    char byte = 0;
    const ssize_t received = ::recv(descriptor_, &byte, 1, 0);
    if (received == 0) return End::kOrderly;
    return received < 0 && (errno == ECONNRESET || errno == EPIPE) ? End::kReset : End::kNone;
  }
  void end_writing() { ::shutdown(descriptor_, SHUT_WR); }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  void reset() {
    const linger at_once{1, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close();
  }

 private:
  void limit_waits() {
    const timeval limit{20, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }

  int descriptor_;
};

/// Somebody who accepts.
class Server {
 public:
  Server() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any = to_socket_address({"127.0.0.1", 0});
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
    EXPECT_EQ(::listen(descriptor_, 1024), 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { close(); }

  Address address() const { return address_of(descriptor_); }
  Stream accept() {
    EXPECT_TRUE(somebody_within(20'000));
    return Stream(::accept(descriptor_, nullptr, nullptr));
  }
  bool somebody_within(int millis) {
    pollfd one{descriptor_, POLLIN, 0};
    return ::poll(&one, 1, millis) == 1;
  }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_;
};

}  // namespace freshet::chaos
