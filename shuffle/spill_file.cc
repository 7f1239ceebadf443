#include "shuffle/spill_file.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace freshet {

namespace {

constexpr size_t kWriteBytes = 64u << 10;

/// entry := header bytes. Read by nobody but the process that wrote it.
struct Header {
  uint64_t check = 0;  // Of what follows, and of the bytes.
  uint64_t first_element = 0;
  uint32_t subpartition = 0;
  uint32_t size = 0;
  uint32_t elements_started = 0;
  uint32_t hash = 0;
  uint32_t gate = 0;
  uint32_t tail_bytes = 0;
  uint8_t flags = 0;
  uint8_t event = 0;
  uint8_t unused[6] = {};
};
static_assert(std::has_unique_object_representations_v<Header>);

uint64_t check_of(const Header& header, std::string_view bytes) {
  const auto* begin = reinterpret_cast<const char*>(&header);
  return hash_combine(
      hash_bytes({begin + sizeof header.check, sizeof header - sizeof header.check}),
      hash_bytes(bytes));
}

}  // namespace

Status SpillFile::damaged(std::string_view what) const {
  return data_loss(fmt::format("{}: {}", path(), what));
}

Status SpillFile::append(uint32_t subpartition, const Buffer& buffer,
                         const std::atomic<bool>* cancelled) {
  Header header;
  header.first_element = buffer.first_element;
  header.subpartition = subpartition;
  header.size = buffer.size;
  header.elements_started = buffer.elements_started;
  header.hash = buffer.hash;
  header.gate = buffer.gate;
  header.tail_bytes = buffer.tail_bytes;
  header.flags = buffer.flags;
  header.event = buffer.event ? 1 : 0;
  header.check = check_of(header, buffer.bytes());
  unqueued_.append(reinterpret_cast<const char*>(&header), sizeof header);
  unqueued_.append(buffer.bytes());
  ++buffers_;
  if (unqueued_.size() < kWriteBytes) return Status();
  queued_bytes_ += unqueued_.size();
  return queue_->push(std::exchange(unqueued_, {}), cancelled);
}

Result<std::optional<SpillFile::Taken>> SpillFile::take() {
  CHECK(buffers_ > 0);
  Header header;
  ASSIGN_OR_RETURN(const bool has_header, read(sizeof header));
  if (!has_header) return std::optional<Taken>();
  std::memcpy(&header, read_.data() + read_at_, sizeof header);
  if (header.size > unread_bytes() - sizeof header)
    return damaged("a buffer is longer than what is left");
  ASSIGN_OR_RETURN(const bool has_all, read(sizeof header + header.size));
  if (!has_all) return std::optional<Taken>();
  Taken taken;
  taken.bytes = std::string_view(read_).substr(read_at_ + sizeof header, header.size);
  if (header.check != check_of(header, taken.bytes)) return damaged("the checksum is wrong");
  taken.subpartition = header.subpartition;
  taken.buffer.first_element = header.first_element;
  taken.buffer.size = header.size;
  taken.buffer.elements_started = header.elements_started;
  taken.buffer.hash = header.hash;
  taken.buffer.gate = header.gate;
  taken.buffer.tail_bytes = header.tail_bytes;
  taken.buffer.flags = header.flags;
  taken.buffer.event = header.event != 0;
  read_at_ += sizeof header + header.size;
  --buffers_;
  return std::optional(taken);
}

Result<bool> SpillFile::read(size_t bytes) {
  if (read_.size() - read_at_ >= bytes) return true;
  read_.erase(0, std::exchange(read_at_, 0));
  while (read_.size() < bytes) {
    if (queued_bytes_ == 0) {
      if (unqueued_.empty()) return damaged("a buffer is not whole");
      read_.append(std::exchange(unqueued_, {}));
      continue;
    }
    ASSIGN_OR_RETURN(const std::string next, queue_->pop());
    if (next.empty()) return false;
    queued_bytes_ -= next.size();
    read_.append(next);
  }
  return true;
}

}  // namespace freshet
