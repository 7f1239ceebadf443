#include "shuffle/channel_writer.h"

#include <algorithm>
#include <cstring>

#include "network/frame.h"
#include "runtime/base/check.h"

namespace freshet {

size_t ChannelWriter::header_bytes(EpochMillis timestamp) const {
  return (timestamp == kNoTimestamp ? 0 : kTimestampBytes) +
         (shared_.fixed_record_size == 0 ? length_guess_ : 0);
}

char* ChannelWriter::put_header(char* out, EpochMillis timestamp, uint64_t payload_bytes) const {
  if (timestamp != kNoTimestamp) {
    std::memcpy(out, &timestamp, kTimestampBytes);
    out += kTimestampBytes;
  }
  return shared_.fixed_record_size == 0 ? put_varint(out, payload_bytes) : out;
}

void ChannelWriter::open_block() {
  const uint32_t limit = channel_->block_bytes_max.load(std::memory_order_relaxed);
  // The smallest blocks only when more than half of the budget is held: many channels share it.
  const MemoryAccount& account = *shared_.account;
  if (account.held_bytes() + std::min(block_bytes_, limit) > account.budget_bytes() / 2)
    block_bytes_ = kSmallBlockBytes;
  block_bytes_ = std::min(block_bytes_, limit);
  block_ = Block::allocate(shared_.pool, block_bytes_, shared_.account);
  used_ = 0;
  flags_ = 0;
  tail_bytes_ = 0;
  elements_started_ = 0;
}

void ChannelWriter::close_block(uint8_t more_flags, uint64_t hash) {
  block_->hand_over();
  Buffer buffer;
  buffer.block = std::move(block_);
  buffer.size = used_;
  buffer.flags = flags_ | more_flags;
  buffer.elements_started = elements_started_;
  buffer.first_element = next_element_ - elements_started_;
  buffer.hash = static_cast<uint32_t>(hash);
  buffer.gate = shared_.log_position ? static_cast<uint32_t>(shared_.log_position()) : 0;
  buffer.tail_bytes = tail_bytes_;
  shared_.closed.push_back({subpartition_, channel_, std::move(buffer)});
  block_ = nullptr;
  used_ = 0;
}

void ChannelWriter::grow_block() {
  block_bytes_ = block_bytes_ == kSmallBlockBytes ? kMediumBlockBytes : kLargeBlockBytes;
}

void ChannelWriter::close_if_presence_changes(EpochMillis timestamp) {
  if (elements_started_ == 0 || used_ == 0) return;
  if (((flags_ & kFrameHasTimestamps) != 0) != (timestamp != kNoTimestamp)) close_block(0, hash_);
}

void ChannelWriter::begin_record(EpochMillis timestamp, Encoder* encoder) {
  close_if_presence_changes(timestamp);
  if (!block_) open_block();
  reserved_ = header_bytes(timestamp);
  const size_t least = reserved_ + std::max<size_t>(shared_.fixed_record_size, 1);
  if (room() < least) {
    encoder->start(nullptr, nullptr);
    return;
  }
  encoder->start(block_->data() + used_ + reserved_, block_->data() + block_->capacity());
}

void ChannelWriter::start_element(EpochMillis timestamp, std::string_view payload) {
  hash_before_ = hash_;
  if (shared_.hash) hash_ = rolling_hash(hash_, ElementKind::kRecord, timestamp, payload);
}

void ChannelWriter::end_record(EpochMillis timestamp, std::string_view payload) {
  CHECK(shared_.fixed_record_size == 0 || payload.size() == shared_.fixed_record_size);
  CHECK(payload.size() <= kRecordBytesMax);
  start_element(timestamp, payload);
  const bool inside = !payload.empty() && payload.data() >= block_->data() &&
                      payload.data() < block_->data() + block_->capacity();
  if (!inside || !finish_in_place(timestamp, payload)) append_copied(timestamp, payload);
  if (shared_.fixed_record_size == 0)
    length_guess_ = static_cast<uint32_t>(varint_size(payload.size()));
  if (block_ && room() == 0) {
    close_block(0, hash_);
    grow_block();
  }
}

bool ChannelWriter::finish_in_place(EpochMillis timestamp, std::string_view payload) {
  size_t header = reserved_;
  if (shared_.fixed_record_size == 0) {
    header = reserved_ - length_guess_ + varint_size(payload.size());
    if (header + payload.size() > room()) return false;
    char* begin = block_->data() + used_;
    if (header != reserved_) std::memmove(begin + header, begin + reserved_, payload.size());
  }
  put_header(block_->data() + used_, timestamp, payload.size());
  used_ += static_cast<uint32_t>(header + payload.size());
  ++elements_started_;
  ++next_element_;
  if (timestamp != kNoTimestamp) flags_ |= kFrameHasTimestamps;
  return true;
}

void ChannelWriter::append_copied(EpochMillis timestamp, std::string_view payload) {
  char header[kRecordHeaderBytesMax];
  const auto header_size =
      static_cast<size_t>(put_header(header, timestamp, payload.size()) - header);
  std::string aside;  // When the payload lies where the header will be written.
  if (block_ && payload.data() >= block_->data() &&
      payload.data() < block_->data() + block_->capacity()) {
    aside.assign(payload);
    payload = aside;
  }
  const size_t size = header_size + payload.size();
  // A small element is cheaper for the consumer in one piece than a block is full.
  if (block_ && used_ != 0 && size > room() && room() <= block_->capacity() / 8 &&
      size <= block_->capacity() / 4) {
    close_block(0, hash_before_);
    grow_block();
  }
  if (!block_) open_block();
  // The element counts where it starts; the hash of a block it does not end in is the one before
  // it.
  ++elements_started_;
  ++next_element_;
  if (timestamp != kNoTimestamp) flags_ |= kFrameHasTimestamps;
  append_spanning({header, header_size});
  append_spanning(payload);
}

void ChannelWriter::append_spanning(std::string_view bytes) {
  while (!bytes.empty()) {
    if (room() == 0) {
      close_block(kFrameEndsIncomplete, hash_before_);
      grow_block();
      open_block();
      flags_ = kFrameStartsWithTail;
    }
    const size_t part = std::min<size_t>(room(), bytes.size());
    std::memcpy(block_->data() + used_, bytes.data(), part);
    used_ += static_cast<uint32_t>(part);
    bytes.remove_prefix(part);
    if (elements_started_ == 0) tail_bytes_ = used_;
  }
}

void ChannelWriter::append_event(ElementKind kind, const std::shared_ptr<const Block>& event,
                                 uint32_t size) {
  if (used_ != 0) close_block(0, hash_);
  const bool numbered = kind != ElementKind::kBarrier;
  if (numbered && shared_.hash) {
    hash_ =
        rolling_hash(hash_, kind, kNoTimestamp, std::string_view(event->data(), size).substr(1));
  }
  Buffer buffer;
  buffer.block = event;
  buffer.size = size;
  buffer.event = true;
  buffer.first_element = next_element_;
  buffer.elements_started = numbered ? 1 : 0;
  buffer.hash = static_cast<uint32_t>(hash_);
  buffer.gate = shared_.log_position ? static_cast<uint32_t>(shared_.log_position()) : 0;
  next_element_ += buffer.elements_started;
  shared_.closed.push_back({subpartition_, channel_, std::move(buffer)});
}

void ChannelWriter::flush() {
  if (used_ == 0) return;
  if (used_ <= block_->capacity() / 16) {
    block_bytes_ = block_->capacity() == kLargeBlockBytes ? kMediumBlockBytes : kSmallBlockBytes;
  }
  close_block(0, hash_);
}

}  // namespace freshet
