#include "runtime/connectors/tcp_stream.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace freshet {
namespace {

constexpr int kWaitMillis = 20;
constexpr size_t kReadBytes = 64 << 10;

class TcpStream final : public ByteStream {
 public:
  TcpStream(std::string host, uint16_t port) : host_(std::move(host)), port_(port) {}
  ~TcpStream() override { close(); }
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  Event next() override {
    if (connected_) return receive();
    if (socket_ < 0) return begin();
    return wait_for_connection();
  }

  void close() override {
    drop_socket();
    connected_ = false;
    addresses_.reset();
    next_address_ = nullptr;
  }

 private:
  struct FreeAddresses {
    void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
  };

  Event begin() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &found);
    if (error != 0) {
      return {Kind::kFailed, error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)};
    }
    addresses_.reset(found);
    next_address_ = found;
    return try_next_address("there is no address");
  }

  /// `error`: why there is none yet.
  Event try_next_address(std::string error) {
    drop_socket();
    while (next_address_ != nullptr) {
      const addrinfo& address = *std::exchange(next_address_, next_address_->ai_next);
      socket_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (socket_ >= 0) {
        if (::connect(socket_, address.ai_addr, address.ai_addrlen) == 0) return on_connected();
        if (errno == EINPROGRESS) return {};
      }
      error = std::strerror(errno);
      drop_socket();
    }
    return fail(std::move(error));
  }

  Event wait_for_connection() {
    if (!wait(POLLOUT)) return {};
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    return error == 0 ? on_connected() : try_next_address(std::strerror(error));
  }

  Event on_connected() {
    connected_ = true;
    // A peer that is gone without a word is noticed within half a minute.
    set_option(SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set_option(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(IPPROTO_TCP, TCP_KEEPCNT, 3);
    return {Kind::kConnected, {}};
  }

  void set_option(int level, int name, int value) const {
    (void)::setsockopt(socket_, level, name, &value, sizeof(value));
  }

  Event receive() {
    if (!wait(POLLIN)) return {};
    std::string bytes(kReadBytes, '\0');
    const ssize_t size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (size < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
      return fail(std::strerror(errno));
    }
    if (size == 0) {
      close();
      return {Kind::kEnd, {}};
    }
    bytes.resize(static_cast<size_t>(size));
    return {Kind::kBytes, std::move(bytes)};
  }

  Event fail(std::string why) {
    close();
    return {Kind::kFailed, std::move(why)};
  }

  bool wait(short events) const {
    pollfd waited{socket_, events, 0};
    return ::poll(&waited, 1, kWaitMillis) > 0;
  }

  void drop_socket() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  const std::string host_;
  const uint16_t port_;
  std::unique_ptr<addrinfo, FreeAddresses> addresses_;
  const addrinfo* next_address_ = nullptr;
  int socket_ = -1;
  bool connected_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> make_tcp_stream(std::string host, uint16_t port) {
  return std::make_unique<TcpStream>(std::move(host), port);
}

}  // namespace freshet
