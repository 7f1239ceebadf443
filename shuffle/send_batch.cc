#include "shuffle/send_batch.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

void SendBatch::begin(std::string control) {
  if (!arena_ || arena_.use_count() != 1)
    arena_ = std::make_shared_for_overwrite<char[]>(kArenaBytes);
  piece_begin_ = at_ = arena_.get();
  bytes_ = control.size();
  pieces_.clear();
  if (control.empty()) return;
  const auto owner = std::make_shared<const std::string>(std::move(control));
  pieces_.push_back({*owner, owner});
}

void SendBatch::end_piece() {
  if (at_ == piece_begin_) return;
  pieces_.push_back({{piece_begin_, static_cast<size_t>(at_ - piece_begin_)}, arena_});
  piece_begin_ = at_;
}

void SendBatch::add(const FrameHeader& header, Buffer buffer) {
  CHECK(at_ + kFrameHeaderBytes + kCopiedBytesMax <= arena_.get() + kArenaBytes);
  header.encode_to(at_);
  at_ += kFrameHeaderBytes;
  const std::string_view bytes = buffer.bytes();
  bytes_ += kFrameHeaderBytes + bytes.size();
  if (bytes.size() <= kCopiedBytesMax) {
    at_ = std::copy(bytes.begin(), bytes.end(), at_);
    copied_.push_back(std::move(buffer.block));
    return;
  }
  end_piece();
  const Block* const block = buffer.block.get();
  pieces_.push_back({bytes, std::shared_ptr<const void>(
                                block, [owner = std::move(buffer.block)](const void*) {})});
}

std::vector<OutgoingBytes> SendBatch::take() {
  end_piece();
  Block::let_go_all(&copied_);
  return std::exchange(pieces_, {});
}

}  // namespace freshet
