#include "shuffle/blocking_channel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "network/frame.h"
#include "runtime/base/check.h"
#include "shuffle/element_layout.h"

namespace freshet {

namespace {

constexpr size_t kWholeBytesMax =
    kLargeBlockBytes / 4;  // Cheaper in one piece than a chunk is full.

}  // namespace

void BlockingChannel::begin_record(EpochMillis timestamp) {
  const bool timed = timestamp != kNoTimestamp;
  if (open_.records != 0 && open_.timestamps != timed) close();
  open_.timestamps = timed;
}

void BlockingChannel::end_record(EpochMillis timestamp, std::string_view payload) {
  check_record_size(payload.size(), shared_.fixed_record_size);
  char header[kRecordHeaderBytesMax];
  char* end = header;
  if (timestamp != kNoTimestamp) {
    std::memcpy(end, &timestamp, kTimestampBytes);
    end += kTimestampBytes;
  }
  if (shared_.fixed_record_size == 0) end = put_varint(end, payload.size());
  const auto header_size = static_cast<size_t>(end - header);
  const size_t size = header_size + payload.size();
  if (chunk_ != nullptr && size > room() && (size <= kWholeBytesMax || room() == 0)) close();
  if (chunk_ == nullptr) open_chunk(size);
  hash_written();
  const uint64_t hash_before = hash_;
  hash_ = rolling_hash(hash_, ElementKind::kRecord, timestamp, payload);
  // The element counts where it starts; the hash of a chunk it does not end in is the one before.
  ++open_.records;
  append_spanning({header, header_size}, hash_before);
  append_spanning(payload, hash_before);
  inside_element_ = false;
  hashed_ = open_.cursor;
  open_.small = payload.size() <= RecordOutput::kSmallRecordBytes;
}

void BlockingChannel::append_spanning(std::string_view bytes, uint64_t hash_before) {
  while (!bytes.empty()) {
    if (room() == 0) {
      inside_element_ = true;
      close_chunk(kFrameEndsIncomplete, hash_before);
      open_chunk(bytes.size());
    }
    const size_t part = std::min<size_t>(room(), bytes.size());
    std::memcpy(open_.cursor, bytes.data(), part);
    open_.cursor += part;
    bytes.remove_prefix(part);
    if (open_.records == 0)
      chunk_->tail_bytes = static_cast<uint32_t>(open_.cursor - chunk_->data());
  }
}

void BlockingChannel::open_chunk(size_t least) {
  const auto wanted = static_cast<uint32_t>(
      std::min<size_t>(std::max<size_t>(chunk_bytes_, least), RegionBuffer::kChunkBytesMax));
  const auto enough = static_cast<uint32_t>(std::min<size_t>(least, kWholeBytesMax));
  chunk_ = shared_.memory.allocate(wanted, enough);
  if (chunk_ == nullptr) {
    shared_.end_region();
    chunk_ = shared_.memory.allocate(wanted, enough);
    CHECK(chunk_ != nullptr);
  }
  if (first_ == nullptr) shared_.written.push_back(this);
  chunk_bytes_ = std::min(2 * wanted, RegionBuffer::kChunkBytesMax);
  chunk_->first_element = elements_;
  if (inside_element_) chunk_->flags = kFrameStartsWithTail;
  open_.cursor = chunk_->data();
  open_.end = open_.cursor + chunk_->capacity;
  open_.records = 0;
  hashed_ = open_.cursor;
}

void BlockingChannel::hash_written() {
  const RecordLayout layout{shared_.fixed_record_size, open_.timestamps};
  const char* const end = open_.cursor;
  uint64_t hash = hash_;
  const bool never = false;
  RecordRun run(layout, {hashed_, static_cast<size_t>(end - hashed_)}, UINT32_MAX, &never);
  std::string_view payload;
  EpochMillis timestamp = kNoTimestamp;
  while (run.next_small(&payload, &timestamp) || run.next(&payload, &timestamp))
    hash = rolling_hash(hash, ElementKind::kRecord, timestamp, payload);
  CHECK(hashed_ + run.bytes() == end);
  hash_ = hash;
  hashed_ = end;
}

void BlockingChannel::close_chunk(uint8_t more_flags, uint64_t hash) {
  RegionChunk* const chunk = std::exchange(chunk_, nullptr);
  chunk->size = static_cast<uint32_t>(open_.cursor - chunk->data());
  chunk->flags |= more_flags;
  chunk->elements_started = open_.records;
  if (open_.records != 0 && open_.timestamps) chunk->flags |= kFrameHasTimestamps;
  chunk->hash = hash;
  elements_ += open_.records;
  open_.cursor = open_.end = nullptr;
  open_.records = 0;
  (first_ == nullptr ? first_ : last_->next) = chunk;
  last_ = chunk;
}

void BlockingChannel::close() {
  if (chunk_ == nullptr) return;
  hash_written();
  close_chunk(0, hash_);
}

RegionChunk* BlockingChannel::take_chunks() {
  close();
  last_ = nullptr;
  // As much as it grew to is likely to be filled again, but for the last one.
  chunk_bytes_ = std::max(chunk_bytes_ / 4, RegionBuffer::kChunkBytesMin);
  return std::exchange(first_, nullptr);
}

void BlockingChannel::count_event(ElementKind kind, std::string_view payload) {
  ++elements_;
  hash_ = rolling_hash(hash_, kind, kNoTimestamp, payload);
}

}  // namespace freshet
