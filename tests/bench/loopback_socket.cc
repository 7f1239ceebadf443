#include "tests/bench/loopback_socket.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace freshet::bench {

Status system_error(const char* what) {
  return internal_error(std::string(what) + ": " + std::strerror(errno));
}

Result<int> listen_on_loopback(sockaddr_in* address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(*address);
  auto* const generic = reinterpret_cast<sockaddr*>(address);
  if (listener < 0 || bind(listener, generic, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, generic, &size) != 0)
    return system_error("a port for the baseline");
  return listener;
}

int connect_without_delay(const sockaddr_in& address) {
  const int out = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  if (connect(out, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return -1;
  setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return out;
}

}  // namespace freshet::bench
