#include "shuffle/buffer.h"

#include "network/frame.h"
#include "runtime/base/check.h"
#include "shuffle/element_layout.h"

namespace freshet {

bool Buffer::goes_on_in(const Buffer& next) const {
  const auto differing = static_cast<uint8_t>(flags ^ next.flags);
  const bool timestamps_agree =
      elements_started == 0 || next.elements_started == 0 || (differing & kFrameHasTimestamps) == 0;
  return block == next.block && offset + size == next.offset && !event && !next.event &&
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
  buffer->offset += static_cast<uint32_t>(at);
  buffer->size -= static_cast<uint32_t>(at);
  buffer->elements_started -= static_cast<uint32_t>(element - buffer->first_element);
  buffer->first_element = element;
  buffer->tail_bytes = 0;
  buffer->flags &= static_cast<uint8_t>(~kFrameStartsWithTail);
}

}  // namespace freshet
