#include "shuffle/buffer.h"

#include <algorithm>

#include "network/frame.h"
#include "runtime/base/check.h"
#include "shuffle/element_layout.h"

namespace freshet {

bool Buffer::goes_on_in(const Buffer& next) const {
  const auto differing = static_cast<uint8_t>(flags ^ next.flags);
  const bool timestamps_agree =
      elements_started == 0 || next.elements_started == 0 || (differing & kFrameHasTimestamps) == 0;
  return block == next.block && data + size == next.data && !event && !next.event &&
         timestamps_agree && kept == next.kept;
}

void Buffer::append(const Buffer& next) {
  size += next.size;
  flags |= next.flags;
  elements_started += next.elements_started;
  hash = next.hash;
  gate = next.gate;
}

void cut_before(uint64_t element, uint32_t fixed_record_size, Buffer* buffer) {
  CHECK(buffer->has_start_of(element));
  if (buffer->event) return;
  const RecordLayout layout{fixed_record_size, (buffer->flags & kFrameHasTimestamps) != 0};
  const std::string_view bytes = buffer->bytes();
  uint64_t at = buffer->tail_bytes;
  for (uint64_t skipped = buffer->first_element; skipped < element; ++skipped) {
    RecordView record;
    CHECK(parse_record_header(layout, bytes.substr(at), &record) == ParseResult::kComplete);
    at += record.header_bytes + record.payload_bytes;
    CHECK(at < bytes.size());
  }
  buffer->data += at;
  buffer->size -= static_cast<uint32_t>(at);
  buffer->elements_started -= static_cast<uint32_t>(element - buffer->first_element);
  buffer->first_element = element;
  buffer->tail_bytes = 0;
  buffer->flags &= static_cast<uint8_t>(~kFrameStartsWithTail);
}

Buffer split_off(uint32_t bytes, uint32_t fixed_record_size, Buffer* buffer) {
  CHECK(bytes > 0 && bytes < buffer->size && !buffer->event);
  const RecordLayout layout{fixed_record_size, (buffer->flags & kFrameHasTimestamps) != 0};
  const std::string_view all = buffer->bytes();
  uint64_t end = buffer->tail_bytes;  // Of the last element that starts in the first part.
  uint32_t started = 0;
  bool header_known = true;
  while (end < bytes && header_known) {
    RecordView record;
    header_known = parse_record_header(layout, all.substr(end), &record) == ParseResult::kComplete;
    end = header_known ? end + record.header_bytes + record.payload_bytes : all.size();
    ++started;
  }
  Buffer first = *buffer;
  first.size = bytes;
  first.elements_started = started;
  first.tail_bytes = std::min(first.tail_bytes, bytes);
  first.hash = 0;
  first.flags &= static_cast<uint8_t>(~kFrameEndsIncomplete);
  buffer->data += bytes;
  buffer->size -= bytes;
  buffer->first_element += started;
  buffer->elements_started -= started;
  buffer->tail_bytes = static_cast<uint32_t>(std::min<uint64_t>(end, all.size()) - bytes);
  buffer->flags &= static_cast<uint8_t>(~kFrameStartsWithTail);
  if (end > bytes) {
    first.flags |= kFrameEndsIncomplete;
    buffer->flags |= kFrameStartsWithTail;
  }
  if (buffer->elements_started == 0) buffer->flags &= static_cast<uint8_t>(~kFrameHasTimestamps);
  if (started == 0) first.flags &= static_cast<uint8_t>(~kFrameHasTimestamps);
  return first;
}

void BufferQueue::push_more(Buffer buffer) {
  if (!more_) more_ = std::make_unique<More>();
  more_->buffers.push_back(std::move(buffer));
  ++count_;
}

void BufferQueue::next() {
  std::vector<Buffer>& buffers = more_->buffers;
  size_t& begin = more_->begin;
  first_[1] = std::move(buffers[begin++]);
  if (begin == buffers.size()) {
    buffers.clear();
    begin = 0;
  } else if (begin >= 64 && begin * 2 >= buffers.size()) {
    buffers.erase(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = 0;
  }
}

void BufferQueue::push_front(Buffer buffer) {
  Buffer second = std::exchange(first_[0], std::move(buffer));
  Buffer third = std::exchange(first_[1], std::move(second));
  if (count_++ < kInPlace) return;
  if (!more_) more_ = std::make_unique<More>();
  if (more_->begin > 0) {
    more_->buffers[--more_->begin] = std::move(third);
  } else {
    more_->buffers.insert(more_->buffers.begin(), std::move(third));
  }
}

Buffer BufferQueue::pop_back() {
  if (count_ <= kInPlace) return std::exchange(first_[--count_], Buffer());
  Buffer buffer = std::move(more_->buffers.back());
  more_->buffers.pop_back();
  if (--count_ == kInPlace) *more_ = More();
  return buffer;
}

std::vector<Buffer> BufferQueue::take_all() {
  std::vector<Buffer> all;
  while (!empty()) all.push_back(pop());
  return all;
}

}  // namespace freshet
