#pragma once

#include <sys/types.h>

#include <vector>

#include "network/transport.h"

namespace freshet {

/// The pieces of one send() on their way into a socket, and how far they got. Lets go of each as
/// soon as it is written.
class OutgoingQueue {
 public:
  void assign(std::vector<OutgoingBytes> pieces);
  void clear() { assign({}); }
  bool empty() const { return piece_ == pieces_.size(); }

  /// One gathered write that does not block, of as many pieces as the kernel takes. Bytes written,
  /// or -1 and errno.
  ssize_t write(int descriptor);

 private:
  void advance(size_t written);

  std::vector<OutgoingBytes> pieces_;
  size_t piece_ = 0;   // The first that is not written whole; never an empty one.
  size_t offset_ = 0;  // In that piece.
};

}  // namespace freshet
