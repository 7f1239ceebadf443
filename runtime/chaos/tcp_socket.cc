#include "runtime/chaos/tcp_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace freshet::chaos {

namespace {

constexpr int kBacklog = 1024;

Result<sockaddr_in> to_socket_address(const Address& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  if (inet_pton(AF_INET, address.host.c_str(), &to.sin_addr) == 1) return to;
  return invalid_argument(fmt::format("'{}' is no IPv4 address in figures", address.host));
}

Status failed(const std::string& what, int error) {
  return unavailable(fmt::format("{}: {}", what, strerror(error)));
}

template <class Ask>
Address ask(int descriptor, const Ask& function) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  if (function(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return {text.data(), ntohs(address.sin_port)};
}

void send_small_ones_at_once(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

TcpSocket::TcpSocket(TcpSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

TcpSocket::~TcpSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<TcpSocket> TcpSocket::listen(const std::string& host) {
  ASSIGN_OR_RETURN(const sockaddr_in address, to_socket_address({host, 0}));
  TcpSocket made(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  if (made.descriptor_ < 0 || bind(made.descriptor_, where, sizeof(address)) != 0 ||
      ::listen(made.descriptor_, kBacklog) != 0)
    return failed("cannot listen on " + host, errno);
  return made;
}

Result<TcpSocket> TcpSocket::connect(const Address& address) {
  ASSIGN_OR_RETURN(const sockaddr_in to, to_socket_address(address));
  TcpSocket made(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto* const where = reinterpret_cast<const sockaddr*>(&to);
  if (made.descriptor_ < 0 ||
      (::connect(made.descriptor_, where, sizeof(to)) != 0 && errno != EINPROGRESS))
    return failed("cannot connect to " + address.to_string(), errno);
  send_small_ones_at_once(made.descriptor_);
  return made;
}

Result<bool> TcpSocket::is_connected() const {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return failed("cannot connect", error);
  return peer_address().port != 0;
}

Result<std::optional<TcpSocket>> TcpSocket::accept() const {
  while (true) {
    const int accepted = accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0) {
      send_small_ones_at_once(accepted);
      return std::optional(TcpSocket(accepted));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::optional<TcpSocket>();
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      return resource_exhausted(fmt::format("cannot accept: {}", strerror(errno)));
    // Everything else is the fate of that one connection.
  }
}

Address TcpSocket::local_address() const { return ask(descriptor_, getsockname); }
Address TcpSocket::peer_address() const { return ask(descriptor_, getpeername); }

bool TcpSocket::peer_has_gone() const {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return getsockopt(descriptor_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
         info.tcpi_state != TCP_ESTABLISHED;
}

void TcpSocket::reset() {
  const linger at_once{1, 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close(std::exchange(descriptor_, -1));
}

}  // namespace freshet::chaos
