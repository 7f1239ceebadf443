#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "network/frame.h"
#include "network/transport.h"
#include "shuffle/buffer.h"

namespace freshet {

/// What leaves a connection in one send: headers and small payloads copied one behind the other,
/// large payloads where they lie. Its memory is used again once the send is done.
class SendBatch {
 public:
  /// Starts the next send with bytes of the caller's.
  void begin(std::string control);

  /// True when it is better to send than to add more.
  bool is_full() const { return bytes_ >= kBytesMax || pieces_.size() >= kPiecesMax; }

  /// A frame. One turn of a channel may be added as a whole when it was not full before.
  void add(const FrameHeader& header, Buffer buffer);

  std::vector<OutgoingBytes> take();

 private:
  static constexpr size_t kBytesMax = 256u << 10;
  static constexpr size_t kPiecesMax = 512;
  static constexpr uint32_t kCopiedBytesMax = kSmallBlockBytes;  // Cheaper to copy than to gather.
  static constexpr size_t kArenaBytes = kBytesMax + (64u << 10);

  void end_piece();

  std::shared_ptr<char[]> arena_;
  char* piece_begin_ = nullptr;
  char* at_ = nullptr;
  size_t bytes_ = 0;
  std::vector<OutgoingBytes> pieces_;
  std::vector<ConstBlockRef> copied_;  // What nobody needs any more.
};

}  // namespace freshet
