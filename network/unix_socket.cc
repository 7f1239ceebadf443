#include "network/unix_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace freshet {

namespace {

/// A name as the system has it.
struct SocketName {
  explicit SocketName(const Address& address) {
    const std::string& name = address.unix_socket;
    name_.sun_family = AF_UNIX;
    fits_ = !name.empty() && name.size() < sizeof(name_.sun_path);
    if (!fits_) return;
    std::memcpy(name_.sun_path, name.data(), name.size());
    const bool has_file = name[0] == '/';
    if (!has_file) name_.sun_path[0] = '\0';
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + has_file);
  }

  bool fits() const { return fits_; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un name_{};
  socklen_t size_ = 0;
  bool fits_ = false;
};

Status error_of(const Address& address, int error) {
  return unavailable(fmt::format("{}: {}", address.to_string(), std::strerror(error)));
}

Result<OwnedDescriptor> make_socket(const Address& address, const SocketName& name) {
  if (!name.fits())
    return invalid_argument(fmt::format("{}: too long for a Unix socket", address.to_string()));
  OwnedDescriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) return error_of(address, errno);
  return made;
}

}  // namespace

Status remove_stale_unix_socket(const Address& address) {
  const SocketName name(address);
  const std::string& path = address.unix_socket;
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return Status();
  if (!S_ISSOCK(info.st_mode))
    return already_exists(fmt::format("{}: there is something else", address.to_string()));
  ASSIGN_OR_RETURN(const OwnedDescriptor probe, make_socket(address, name));
  if (connect(probe.get(), name.get(), name.size()) == 0 || errno != ECONNREFUSED)
    return already_exists(fmt::format("{}: the socket is in use", address.to_string()));
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return error_of(address, errno);
  return Status();
}

OwnedDescriptor::~OwnedDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

UnixListener::UnixListener(Address address, OwnedDescriptor descriptor)
    : address_(std::move(address)), descriptor_(std::move(descriptor)) {
  struct stat info {};
  if (address_.unix_socket[0] != '/' || lstat(address_.unix_socket.c_str(), &info) != 0) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

UnixListener::~UnixListener() {
  if (inode_ == 0) return;
  struct stat info {};
  if (lstat(address_.unix_socket.c_str(), &info) != 0) return;
  if (info.st_dev == device_ && info.st_ino == inode_) unlink(address_.unix_socket.c_str());
}

Result<std::unique_ptr<UnixListener>> UnixListener::listen(const Address& address) {
  const SocketName name(address);
  ASSIGN_OR_RETURN(OwnedDescriptor made, make_socket(address, name));
  int failed = bind(made.get(), name.get(), name.size());
  if (failed != 0 && errno == EADDRINUSE && address.unix_socket[0] == '/') {
    RETURN_IF_ERROR(remove_stale_unix_socket(address));
    failed = bind(made.get(), name.get(), name.size());
  }
  if (failed != 0 && errno == EADDRINUSE)
    return already_exists(fmt::format("{}: the socket is in use", address.to_string()));
  if (failed != 0) return error_of(address, errno).with_context("cannot listen");
  std::unique_ptr<UnixListener> listener(new UnixListener(address, std::move(made)));
  if (::listen(listener->descriptor_.get(), SOMAXCONN) != 0)
    return error_of(address, errno).with_context("cannot listen");
  return listener;
}

Result<OwnedDescriptor> connect_unix_socket(const Address& address) {
  const SocketName name(address);
  ASSIGN_OR_RETURN(OwnedDescriptor made, make_socket(address, name));
  if (connect(made.get(), name.get(), name.size()) != 0) return error_of(address, errno);
  if (const Status user = check_peer_user(made.get()); !user.ok())
    return unavailable(fmt::format("{}: {}", address.to_string(), user.message()));
  return made;
}

Status check_peer_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return failed_precondition(fmt::format("unknown user: {}", std::strerror(errno)));
  if (peer.uid != geteuid())
    return failed_precondition(
        fmt::format("the peer is a process of another user (id {})", peer.uid));
  return Status();
}

}  // namespace freshet
