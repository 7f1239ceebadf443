#include "network/outgoing_queue.h"

#include <sys/socket.h>
#include <sys/uio.h>

namespace freshet {

namespace {
constexpr size_t kPiecesPerWrite = 1024;  // IOV_MAX of Linux.
}

void OutgoingQueue::assign(std::vector<OutgoingBytes> pieces) {
  pieces_ = std::move(pieces);
  piece_ = 0;
  offset_ = 0;
  advance(0);
}

ssize_t OutgoingQueue::write(int descriptor) {
  iovec vectors[kPiecesPerWrite];
  size_t count = 0;
  for (size_t i = piece_; i < pieces_.size() && count < kPiecesPerWrite; ++i) {
    const std::string_view bytes = pieces_[i].bytes.substr(i == piece_ ? offset_ : 0);
    if (!bytes.empty()) vectors[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
  }
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  const ssize_t written = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (written > 0) advance(static_cast<size_t>(written));
  return written;
}

void OutgoingQueue::advance(size_t written) {
  offset_ += written;
  while (piece_ < pieces_.size() && offset_ >= pieces_[piece_].bytes.size()) {
    offset_ -= pieces_[piece_].bytes.size();
    pieces_[piece_++].owner.reset();
  }
}

}  // namespace freshet
