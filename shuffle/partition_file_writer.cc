#include "shuffle/partition_file_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr size_t kCompressedBytesMin = 64;  // Nothing is gained of less.

}  // namespace

PartitionFileWriter::PartitionFileWriter(Options options)
    : options_(std::move(options)),
      file_(std::make_shared<WriteBehind>(options_.file)),
      compressor_(options_.codec) {
  footer_.subpartitions = options_.subpartitions;
  footer_.fixed_record_size = options_.fixed_record_size;
  footer_.to_all = options_.to_all;
}

Status PartitionFileWriter::make_room(size_t bytes) {
  CHECK(bytes <= WriteBehind::kPieceBytes);
  if (!piece_.bytes) piece_ = file_->spare();
  if (piece_.room() >= bytes) return Status();
  RETURN_IF_ERROR(file_->append(std::exchange(piece_, {}), cancelled_));
  piece_ = file_->spare();
  return Status();
}

Status PartitionFileWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    RETURN_IF_ERROR(make_room(1));
    const std::string_view part = bytes.substr(0, piece_.room());
    piece_.append(part);
    offset_ += part.size();
    bytes.remove_prefix(part.size());
  }
  return Status();
}

Status PartitionFileWriter::put(BlockHeader header, std::span<const std::string_view> parts) {
  size_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  CHECK(bytes > 0 && bytes <= kBlockPayloadMax);
  header.bytes = static_cast<uint32_t>(bytes);
  RETURN_IF_ERROR(make_room(kBlockHeaderBytes + bytes));
  char* const out = piece_.bytes.get() + piece_.size;
  char* const payload = out + kBlockHeaderBytes;
  header.stored_bytes = static_cast<uint32_t>(store(parts, &header, payload));
  header.encode_to(out, {payload, header.stored_bytes});
  add_to_index(header);
  piece_.size += kBlockHeaderBytes + header.stored_bytes;
  offset_ += kBlockHeaderBytes + header.stored_bytes;
  footer_.elements += header.elements_started;
  footer_.bytes += header.bytes;
  return Status();
}

size_t PartitionFileWriter::store(std::span<const std::string_view> parts, BlockHeader* header,
                                  char* to) {
  const auto copy = [&parts](char* at) {
    for (const std::string_view part : parts) {
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
  };
  header->codec = static_cast<uint8_t>(BlockCodec::kNone);
  if (options_.codec != BlockCodec::kNone && header->bytes >= kCompressedBytesMin) {
    std::string_view whole = parts[0];
    if (parts.size() > 1) {
      if (!scratch_) scratch_ = std::make_unique<char[]>(kBlockPayloadMax);
      copy(scratch_.get());
      whole = {scratch_.get(), header->bytes};
    }
    if (const size_t size = compressor_.compress(whole, to, header->bytes); size != 0) {
      header->codec = static_cast<uint8_t>(options_.codec);
      return size;
    }
  }
  copy(to);
  return header->bytes;
}

void PartitionFileWriter::add_to_index(const BlockHeader& header) {
  if (entries_.empty() || entries_.back().subpartition != header.subpartition) {
    IndexEntry entry;
    entry.subpartition = header.subpartition;
    entry.offset = offset_;
    entries_.push_back(entry);
  }
  IndexEntry& entry = entries_.back();
  entry.elements += header.elements_started;
  entry.bytes += kBlockHeaderBytes + header.stored_bytes;
  entry.hash = header.hash;
}

Status PartitionFileWriter::end_region() {
  if (entries_.empty()) return Status();
  std::sort(entries_.begin(), entries_.end(), [](const IndexEntry& a, const IndexEntry& b) {
    return a.subpartition < b.subpartition;
  });
  const bool for_all = entries_.front().subpartition == kAllSubpartitions;
  CHECK(!for_all || entries_.size() == 1);
  const auto region = static_cast<uint32_t>(footer_.regions.size());
  footer_.regions.push_back({std::exchange(region_begin_, 0), offset_,
                             static_cast<uint32_t>(entries_.size()), for_all ? 1u : 0u});
  for (size_t at = 0; at < entries_.size(); at += kPageEntriesMax) {
    const size_t end = std::min(entries_.size(), at + kPageEntriesMax);
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(at);
    RETURN_IF_ERROR(append(
        encode_index_page(region, {begin, entries_.begin() + static_cast<std::ptrdiff_t>(end)})));
  }
  entries_.clear();
  region_begin_ = offset_;
  return Status();
}

Status PartitionFileWriter::finish(uint64_t hash) {
  RETURN_IF_ERROR(end_region());
  footer_.hash = hash;
  RETURN_IF_ERROR(append(encode_footer(footer_, offset_)));
  RETURN_IF_ERROR(file_->append(std::exchange(piece_, {}), cancelled_));
  file_->publish();
  return Status();
}

}  // namespace freshet
