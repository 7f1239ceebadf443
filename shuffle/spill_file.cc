#include "shuffle/spill_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr size_t kWriteBytes = 64u << 10;
constexpr size_t kReadBytes = 64u << 10;

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

SpillFile::~SpillFile() {
  if (!writer_) return;
  const Status status = files_.remove(path_);
  if (!status.ok() && status.code() != StatusCode::kNotFound)
    LOG_WARN("spill_file_not_removed", {{"path", path_}, {"cause", status}});
}

Status SpillFile::damaged(std::string_view what) const {
  return data_loss(fmt::format("{}: {}", path_, what));
}

Status SpillFile::append(uint32_t subpartition, const Buffer& buffer) {
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
  unwritten_.append(reinterpret_cast<const char*>(&header), sizeof header);
  unwritten_.append(buffer.bytes());
  ++buffers_;
  return unwritten_.size() >= kWriteBytes ? write_out() : Status();
}

Status SpillFile::write_out() {
  Status status = writer_ ? Status() : create_file();
  if (status.ok()) status = writer_->append(unwritten_);
  if (!status.ok()) {
    return Status(status.code(),
                  fmt::format("{} ({} bytes of output that the consumers have not taken were to be "
                              "kept there, {} of them are)",
                              status.message(), written_bytes_ - read_offset_ + unwritten_.size(),
                              written_bytes_ - read_offset_));
  }
  written_bytes_ += unwritten_.size();
  unwritten_.clear();
  return Status();
}

Status SpillFile::create_file() {
  RETURN_IF_ERROR(files_.create_directories(directory_));
  ASSIGN_OR_RETURN(writer_, files_.create(path_));
  ASSIGN_OR_RETURN(reader_, files_.open(path_));
  return Status();
}

Result<SpillFile::Taken> SpillFile::take() {
  CHECK(buffers_ > 0);
  Header header;
  RETURN_IF_ERROR(read_at_least(sizeof header));
  std::memcpy(&header, read_.data() + read_at_, sizeof header);
  if (header.size > unread_bytes() - sizeof header)
    return damaged("a buffer is longer than what is left");
  RETURN_IF_ERROR(read_at_least(sizeof header + header.size));
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
  return taken;
}

Status SpillFile::read_at_least(size_t bytes) {
  if (read_.size() - read_at_ >= bytes) return Status();
  read_.erase(0, std::exchange(read_at_, 0));
  while (read_.size() < bytes) {
    if (read_offset_ < written_bytes_) {
      RETURN_IF_ERROR(read_more(bytes - read_.size()));
    } else if (!unwritten_.empty()) {
      read_.append(std::exchange(unwritten_, {}));
    } else {
      return damaged("a buffer is not whole");
    }
  }
  return Status();
}

Status SpillFile::read_more(size_t bytes) {
  const size_t wanted =
      std::min<uint64_t>(std::max(bytes, kReadBytes), written_bytes_ - read_offset_);
  const size_t before = read_.size();
  read_.resize(before + wanted);
  ASSIGN_OR_RETURN(const size_t read, reader_->read(read_offset_, read_.data() + before, wanted));
  if (read != wanted) {
    return damaged(fmt::format("{} of {} bytes are missing at offset {}", wanted - read, wanted,
                               read_offset_));
  }
  read_offset_ += wanted;
  return Status();
}

}  // namespace freshet
