#pragma once

#include <sys/types.h>

#include <memory>
#include <utility>

#include "network/transport.h"

namespace freshet {

/// A descriptor that is closed unless somebody takes it.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : descriptor_(other.release()) {}
  OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;
  ~OwnedDescriptor();

  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

/// A listening Unix socket. Its file, if it has one, goes with it.
class UnixListener {
 public:
  /// kAlreadyExists when somebody listens there, or something else has that path.
  static Result<std::unique_ptr<UnixListener>> listen(const Address&);
  ~UnixListener();

  /// Once; the caller closes it.
  int take_descriptor() { return descriptor_.release(); }

 private:
  UnixListener(Address address, OwnedDescriptor descriptor);

  const Address address_;
  OwnedDescriptor descriptor_;
  dev_t device_ = 0;  // With inode_: of the file. 0: there is none.
  ino_t inode_ = 0;
};

/// Removes the file of a Unix socket on which nobody listens, as a process leaves it that was
/// killed. kAlreadyExists when somebody listens there, or it is something else.
Status remove_stale_unix_socket(const Address&);

/// A connected socket that does not block. Never waits: a Unix socket takes a connection at once or
/// not at all.
Result<OwnedDescriptor> connect_unix_socket(const Address&);

/// kFailedPrecondition unless the peer of a connected Unix socket is a process of this user. What
/// has no file can be listened on and connected to by everybody.
Status check_peer_user(int socket);

}  // namespace freshet
