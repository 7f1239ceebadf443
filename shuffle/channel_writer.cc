#include "shuffle/channel_writer.h"

#include <algorithm>
#include <cstring>

#include "network/frame.h"
#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr uint32_t kSlowFlushes = 16;    // A block that takes so many to fill is too large.
constexpr uint64_t kManyChannels = 64;   // The reserve is a small part of what these may hold.
constexpr size_t kClosedBuffersMax = 8;  // Of one element, before they are handed over.

uint32_t larger(uint32_t block_bytes) {
  return block_bytes == kSmallBlockBytes ? kMediumBlockBytes : kLargeBlockBytes;
}

uint32_t smaller(uint32_t block_bytes) {
  return block_bytes == kLargeBlockBytes ? kMediumBlockBytes : kSmallBlockBytes;
}

}  // namespace

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

uint32_t ChannelWriter::Shared::fair_block_bytes() {
  if (fair_bytes == 0) {
    // Open blocks alone must not use up the budget, or nothing would ever be given back.
    const uint64_t share = account->budget_bytes() / (4 * channels);
    fair_bytes = share >= kLargeBlockBytes    ? kLargeBlockBytes
                 : share >= kMediumBlockBytes ? kMediumBlockBytes
                                              : kSmallBlockBytes;
  }
  return fair_bytes;
}

uint32_t ChannelWriter::block_bytes_max() const {
  const uint32_t fair = shared_.fair_block_bytes();
  if (fair == kSmallBlockBytes) return fair;  // Whatever the reader takes.
  uint32_t most = channel_->block_bytes_max.load(std::memory_order_relaxed);
  if (shared_.readers != nullptr) {
    for (const PartitionQueues::Channel* reader : *shared_.readers)
      most = std::min(most, reader->block_bytes_max.load(std::memory_order_relaxed));
  }
  return std::min(fair, most);
}

void ChannelWriter::open_block() {
  if (!may_be_as_large(block_bytes_)) block_bytes_ = block_bytes_max();
  block_ = block_bytes_ == kSmallBlockBytes && shared_.channels >= kManyChannels
               ? shared_.reserve.take()
               : Block::allocate(*shared_.pool, block_bytes_, shared_.account);
  shared_.open_bytes += block_bytes_;
  shared_.open_large += block_bytes_ > kSmallBlockBytes;
  open_.cursor = block_->data();
  open_.records = 0;
  cut_at_ = 0;
  flushes_ = 0;
  flags_ = 0;
  tail_bytes_ = 0;
  open_in_place();
}

void ChannelWriter::open_in_place() {
  // Hashing looks at every record.
  open_.end = shared_.hash ? open_.cursor : block_->data() + block_->capacity();
}

void ChannelWriter::cut(ConstBlockRef block, uint8_t more_flags, uint64_t hash) {
  const auto end = static_cast<uint32_t>(open_.cursor - block->data());
  Buffer buffer(std::move(block), end - cut_at_);
  buffer.data += cut_at_;
  buffer.flags = flags_ | more_flags;
  if (open_.records != 0 && open_.timestamps) buffer.flags |= kFrameHasTimestamps;
  buffer.elements_started = open_.records;
  buffer.first_element = first_element_;
  buffer.hash = static_cast<uint32_t>(hash);
  buffer.gate = shared_.log_position ? static_cast<uint32_t>(shared_.log_position()) : 0;
  buffer.tail_bytes = tail_bytes_;
  shared_.records += buffer.elements_started;
  shared_.bytes += buffer.size;
  first_element_ += open_.records;
  shared_.closed_bytes += buffer.size;
  shared_.closed.push_back({subpartition_, channel_, std::move(buffer)});
  cut_at_ = end;
  cut_in_step_ = shared_.step;
  open_.records = 0;
  flags_ = 0;
  tail_bytes_ = 0;
}

void ChannelWriter::close_block(uint8_t more_flags, uint64_t hash) {
  block_->hand_over();
  shared_.open_bytes -= block_->capacity();
  shared_.open_large -= block_->capacity() > kSmallBlockBytes;
  if (used() != 0) cut(std::move(block_), more_flags, hash);
  block_ = nullptr;
  open_.cursor = open_.end = nullptr;
}

void ChannelWriter::close_full_block(uint8_t more_flags, uint64_t hash) {
  const uint32_t block_bytes = block_->capacity();
  if (flushes_ == 0) {
    block_bytes_ = larger(block_bytes);
  } else if (flushes_ >= kSlowFlushes) {
    block_bytes_ = smaller(block_bytes);
  }
  close_block(more_flags, hash);
}

void ChannelWriter::begin_record(EpochMillis timestamp, Encoder* encoder) {
  const bool timed = timestamp != kNoTimestamp;
  if (open_.records != 0 && open_.timestamps != timed) close_block(0, hash_);
  open_.timestamps = timed;
  if (block_) {
    open_in_place();
  } else {
    open_block();
  }
  reserved_ = header_bytes(timestamp);
  const size_t least = reserved_ + std::max<size_t>(shared_.fixed_record_size, 1);
  if (room() < least) {
    encoder->start(open_.cursor, open_.cursor);
    return;
  }
  encoder->start(open_.cursor + reserved_, block_->data() + block_->capacity());
}

void ChannelWriter::start_element(EpochMillis timestamp, std::string_view payload) {
  hash_before_ = hash_;
  if (shared_.hash) hash_ = rolling_hash(hash_, ElementKind::kRecord, timestamp, payload);
}

bool ChannelWriter::is_in_block(std::string_view payload) const {
  return block_ && payload.data() >= block_->data() &&
         payload.data() < block_->data() + block_->capacity();
}

void ChannelWriter::end_record(EpochMillis timestamp, std::string_view payload) {
  check_record_size(payload.size(), shared_.fixed_record_size);
  start_element(timestamp, payload);
  const bool inside = !payload.empty() && is_in_block(payload);
  if (!inside || !finish_in_place(timestamp, payload)) append_copied(timestamp, payload);
  if (shared_.fixed_record_size == 0)
    length_guess_ = static_cast<uint32_t>(varint_size(payload.size()));
  open_.small = payload.size() <= RecordOutput::kSmallRecordBytes;
  if (block_ && room() == 0) close_full_block(0, hash_);
}

bool ChannelWriter::finish_in_place(EpochMillis timestamp, std::string_view payload) {
  size_t header = reserved_;
  if (shared_.fixed_record_size == 0) {
    header = reserved_ - length_guess_ + varint_size(payload.size());
    if (header + payload.size() > room()) return false;
    char* begin = open_.cursor;
    if (header != reserved_) std::memmove(begin + header, begin + reserved_, payload.size());
  }
  put_header(open_.cursor, timestamp, payload.size());
  open_.cursor += header + payload.size();
  ++open_.records;
  return true;
}

void ChannelWriter::append_copied(EpochMillis timestamp, std::string_view payload) {
  char header[kRecordHeaderBytesMax];
  const auto header_size =
      static_cast<size_t>(put_header(header, timestamp, payload.size()) - header);
  std::string aside;  // When the payload lies where the header will be written.
  if (is_in_block(payload)) {
    aside.assign(payload);
    payload = aside;
  }
  const size_t size = header_size + payload.size();
  // A small element is cheaper for the consumer in one piece than a block is full.
  if (filled() != 0 && size > room() && room() <= block_->capacity() / 8 &&
      size <= block_->capacity() / 4) {
    close_full_block(0, hash_before_);
  }
  if (!block_) open_block();
  // The element counts where it starts; the hash of a block it does not end in is the one before
  // it.
  ++open_.records;
  append_spanning({header, header_size});
  append_spanning(payload);
}

void ChannelWriter::append_spanning(std::string_view bytes) {
  while (!bytes.empty()) {
    if (room() == 0) {
      close_full_block(kFrameEndsIncomplete, hash_before_);
      if (shared_.closed.size() >= kClosedBuffersMax) shared_.hand_over();
      open_block();
      flags_ = kFrameStartsWithTail;
    }
    const size_t part = std::min<size_t>(room(), bytes.size());
    std::memcpy(open_.cursor, bytes.data(), part);
    open_.cursor += part;
    bytes.remove_prefix(part);
    if (open_.records == 0) tail_bytes_ = used();
  }
}

void ChannelWriter::append_event(ElementKind kind, const ConstBlockRef& event, uint32_t size) {
  if (used() != 0) cut(block_, 0, hash_);
  const bool numbered = kind != ElementKind::kBarrier;
  if (numbered && shared_.hash) {
    hash_ =
        rolling_hash(hash_, kind, kNoTimestamp, std::string_view(event->data(), size).substr(1));
  }
  Buffer buffer(event, size);
  buffer.event = true;
  buffer.first_element = first_element_;
  buffer.elements_started = numbered ? 1 : 0;
  buffer.hash = static_cast<uint32_t>(hash_);
  buffer.gate = shared_.log_position ? static_cast<uint32_t>(shared_.log_position()) : 0;
  first_element_ += buffer.elements_started;
  shared_.closed.push_back({subpartition_, channel_, std::move(buffer)});
}

bool ChannelWriter::may_keep() const {
  // What is owed must come back, and a block that others need room for.
  return room() != 0 && !block_->is_overdraft() && may_be_as_large(block_->capacity());
}

void ChannelWriter::flush() {
  if (!block_) return;
  // One that is likely to be full before the next flush would only make one buffer more. But while
  // some of it waits to be taken the memory is not free anyway, and what is written makes no new
  // buffer.
  const bool done = used() == 0 || room() < used();
  if (!may_keep() || (done && block_.is_only_owner())) return close();
  open_.end = open_.cursor;
  if (used() == 0) return;
  ++flushes_;
  cut(block_, 0, hash_);
}

bool ChannelWriter::may_close_unwritten() const {
  return !block_ || !may_keep() || block_.is_only_owner();
}

void ChannelWriter::close_if_too_large() {
  if (block_ && !may_be_as_large(block_->capacity())) close();
}

void ChannelWriter::close() {
  if (!block_) return;
  if (used() == 0 || flushes_ >= kSlowFlushes) block_bytes_ = smaller(block_->capacity());
  close_block(0, hash_);
}

}  // namespace freshet
