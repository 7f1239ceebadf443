#include "state/run_file.h"

#include <lz4.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/record_layout.h"

namespace freshet {

namespace {

constexpr size_t kHeaderBytes = 16;
constexpr uint32_t kCompressed = 1u << 31;

struct BlockHeader {
  uint32_t size;
  uint32_t stored_size;
  uint64_t checksum;
};
static_assert(sizeof(BlockHeader) == kHeaderBytes);

/// Of what follows, and of the sizes.
uint64_t checksum_of(const BlockHeader& header, std::string_view stored) {
  return hash_combine(hash_bytes(stored),
                      static_cast<uint64_t>(header.size) << 32 | header.stored_size);
}

/// False when it is not whole yet.
bool read_varint(std::string_view bytes, size_t* at, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && *at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*at)++]);
    *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

RunWriter::RunWriter(SpillSpace& space) : compress_(space.compresses()) {
  run_.bytes = space.make();
  block_.resize(kBlockBytes);
}

RunWriter::~RunWriter() = default;

Status RunWriter::add(std::string_view key, std::string_view value) {
  char header[2 * kVarintBytesMax];
  char* const end = put_varint(put_varint(header, key.size()), value.size());
  run_.entries++;
  RETURN_IF_ERROR(write({header, static_cast<size_t>(end - header)}));
  RETURN_IF_ERROR(write(key));
  return write(value);
}

Status RunWriter::write(std::string_view bytes) {
  run_.size_bytes += bytes.size();
  if (bytes.size() > kBlockBytes - size_) [[unlikely]]
    return write_slowly(bytes);
  std::memcpy(block_.data() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  return Status();
}

Status RunWriter::write_slowly(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), kBlockBytes - size_);
    std::memcpy(block_.data() + size_, bytes.data(), part);
    size_ += part;
    bytes.remove_prefix(part);
    if (size_ == kBlockBytes) RETURN_IF_ERROR(write_block());
  }
  return Status();
}

Status RunWriter::write_block() {
  if (size_ == 0) return Status();
  std::string stored(kHeaderBytes + size_, '\0');
  BlockHeader header{static_cast<uint32_t>(size_), 0, 0};
  int compressed = 0;
  if (compress_) {
    compressed = LZ4_compress_default(block_.data(), stored.data() + kHeaderBytes,
                                      static_cast<int>(size_), static_cast<int>(size_ - 1));
  }
  if (compressed > 0) {
    header.size |= kCompressed;
    header.stored_size = static_cast<uint32_t>(compressed);
    stored.resize(kHeaderBytes + static_cast<size_t>(compressed));
  } else {
    header.stored_size = header.size;
    std::memcpy(stored.data() + kHeaderBytes, block_.data(), size_);
  }
  header.checksum = checksum_of(header, std::string_view(stored).substr(kHeaderBytes));
  std::memcpy(stored.data(), &header, kHeaderBytes);
  size_ = 0;
  return run_.bytes->append(std::move(stored));
}

Result<SortedRun> RunWriter::finish() {
  RETURN_IF_ERROR(write_block());
  run_.bytes->end();
  block_ = {};
  return std::move(run_);
}

Status RunReader::damaged(const char* what) const {
  return data_loss(run_.bytes->name() + ": it is damaged: " + what + " behind " +
                   std::to_string(entries_) + " of " + std::to_string(run_.entries) + " entries");
}

Result<bool> RunReader::next() {
  if (entries_ == run_.entries) return false;
  uint64_t key_size = 0;
  uint64_t value_size = 0;
  size_t header = at_;
  while (!read_varint(block_, &header, &key_size) || !read_varint(block_, &header, &value_size)) {
    ASSIGN_OR_RETURN(const bool more, read_block());
    if (!more) return damaged("it ends");
    header = at_;
  }
  header -= at_;
  if (key_size > kRecordBytesMax || value_size > kRecordBytesMax) return damaged("a size");
  ASSIGN_OR_RETURN(const bool whole, fill(header + key_size + value_size));
  if (!whole) return damaged("it ends");
  const std::string_view bytes(block_);
  key_ = bytes.substr(at_ + header, key_size);
  value_ = bytes.substr(at_ + header + key_size, value_size);
  at_ += header + key_size + value_size;
  entries_++;
  return true;
}

Result<bool> RunReader::fill(size_t bytes) {
  while (block_.size() - at_ < bytes) {
    ASSIGN_OR_RETURN(const bool more, read_block());
    if (!more) return false;
  }
  return true;
}

/// What is left moves to the front; nobody needs what is before it.
Result<bool> RunReader::read_block() {
  ASSIGN_OR_RETURN(const bool begun, read_raw(kHeaderBytes));
  if (!begun) return false;
  BlockHeader header{};
  std::memcpy(&header, raw_.data() + raw_at_, kHeaderBytes);
  const size_t size = header.size & ~kCompressed;
  if (size > RunWriter::kBlockBytes || header.stored_size > size) return damaged("a size");
  ASSIGN_OR_RETURN(const bool whole, read_raw(kHeaderBytes + header.stored_size));
  if (!whole) return damaged("it ends");
  const auto stored = std::string_view(raw_).substr(raw_at_ + kHeaderBytes, header.stored_size);
  raw_at_ += kHeaderBytes + header.stored_size;
  if (checksum_of(header, stored) != header.checksum) return damaged("a checksum");
  block_.erase(0, std::exchange(at_, 0));
  const size_t before = block_.size();
  if ((header.size & kCompressed) == 0) {
    block_.append(stored);
    return true;
  }
  block_.resize(before + size);
  const int got = LZ4_decompress_safe(stored.data(), block_.data() + before,
                                      static_cast<int>(stored.size()), static_cast<int>(size));
  if (got < 0 || static_cast<size_t>(got) != size) return damaged("a compressed block");
  return true;
}

Result<bool> RunReader::read_raw(size_t bytes) {
  while (raw_.size() - raw_at_ < bytes) {
    ASSIGN_OR_RETURN(std::string more, run_.bytes->next());
    if (more.empty()) return false;
    if (raw_at_ == raw_.size()) {
      raw_ = std::move(more);
    } else {
      raw_.erase(0, raw_at_);
      raw_ += more;
    }
    raw_at_ = 0;
  }
  return true;
}

}  // namespace freshet
