#include "shuffle/partition_file_format.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

#include "network/frame.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace freshet {

namespace {

constexpr uint64_t kMagic = 0x4E4F495449545246;  // "FRTITION"
constexpr size_t kCheckBytes = 8;

/// As it is in memory, because all machines that we run on are little-endian.
struct Tail {
  uint64_t check = 0;
  uint64_t footer = 0;
  uint64_t hash = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint32_t regions = 0;
  uint32_t subpartitions = 0;
  uint32_t fixed_record_size = 0;
  uint32_t to_all = 0;
  uint32_t version = kPartitionFileVersion;
  uint32_t zero = 0;
  uint64_t magic = kMagic;
};

struct PageHeader {
  uint64_t check = 0;
  uint32_t entries = 0;
  uint32_t region = 0;
};

template <class T, size_t Bytes>
constexpr bool kIsPlain = std::has_unique_object_representations_v<T> && sizeof(T) == Bytes;
static_assert(kIsPlain<BlockHeader, kBlockHeaderBytes>);
static_assert(kIsPlain<IndexEntry, kIndexEntryBytes>);
static_assert(kIsPlain<PageHeader, kPageHeaderBytes>);
static_assert(kIsPlain<RegionRecord, kRegionRecordBytes>);
static_assert(kIsPlain<Tail, kTailBytes>);

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <class T>
T read_as(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

/// Of all that is behind the field itself.
uint64_t check_of(std::string_view head, std::string_view rest) {
  return hash_combine(hash_bytes(head.substr(kCheckBytes)), hash_bytes(rest));
}

Status check_regions(const PartitionFooter& footer, uint64_t footer_offset) {
  uint64_t at = 0;
  for (const RegionRecord& region : footer.regions) {
    const uint64_t pages = (uint64_t{region.entries} + kPageEntriesMax - 1) / kPageEntriesMax;
    const uint64_t index_bytes =
        pages * kPageHeaderBytes + uint64_t{region.entries} * kIndexEntryBytes;
    const bool is_possible = region.begin == at && region.entries > 0 && region.index > at &&
                             region.index <= footer_offset && region.for_all <= 1 &&
                             (region.for_all == 0 || region.entries == 1);
    if (!is_possible || index_bytes > footer_offset - region.index)
      return data_loss("its regions are not where they can be");
    at = region.index + index_bytes;
  }
  return at == footer_offset ? Status() : data_loss("its regions do not reach its footer");
}

}  // namespace

void BlockHeader::encode_to(char* out, std::string_view payload) {
  check = check_of(bytes_of(*this), payload);
  std::memcpy(out, this, kBlockHeaderBytes);
}

Result<BlockHeader> decode_block_header(std::string_view bytes) {
  if (bytes.size() < kBlockHeaderBytes) return data_loss("a block ends within its header");
  const auto header = read_as<BlockHeader>(bytes);
  const bool is_possible = header.bytes > 0 && header.bytes <= kBlockPayloadMax &&
                           header.stored_bytes > 0 && header.stored_bytes <= header.bytes &&
                           header.tail_bytes <= header.bytes && header.flags <= kFrameFlagsKnown &&
                           header.event <= 1 && header.codec < kBlockCodecs && header.zero == 0 &&
                           (header.codec != 0 || header.stored_bytes == header.bytes);
  if (!is_possible) return data_loss("a block has a header that none can have");
  return header;
}

Status check_block(const BlockHeader& header, std::string_view block) {
  const std::string_view head = block.substr(0, kBlockHeaderBytes);
  if (header.check != check_of(head, block.substr(kBlockHeaderBytes, header.stored_bytes)))
    return data_loss("the checksum of a block is wrong");
  return Status();
}

std::string encode_index_page(uint32_t region, const std::vector<IndexEntry>& entries) {
  CHECK(!entries.empty() && entries.size() <= kPageEntriesMax);
  PageHeader header{0, static_cast<uint32_t>(entries.size()), region};
  const std::string_view body(reinterpret_cast<const char*>(entries.data()),
                              entries.size() * kIndexEntryBytes);
  header.check = check_of(bytes_of(header), body);
  return std::string(bytes_of(header)).append(body);
}

Result<std::vector<IndexEntry>> decode_index_page(uint32_t region, std::string_view bytes) {
  if (bytes.size() <= kPageHeaderBytes) return data_loss("a page of the index is too short");
  const auto header = read_as<PageHeader>(bytes);
  const std::string_view body = bytes.substr(kPageHeaderBytes);
  if (header.check != check_of(bytes.substr(0, kPageHeaderBytes), body))
    return data_loss("the checksum of a page of the index is wrong");
  if (header.region != region || body.size() != uint64_t{header.entries} * kIndexEntryBytes)
    return data_loss("a page of the index is another one");
  std::vector<IndexEntry> entries(header.entries);
  std::memcpy(entries.data(), body.data(), body.size());
  return entries;
}

std::string encode_footer(const PartitionFooter& footer, uint64_t footer_offset) {
  Tail tail;
  tail.footer = footer_offset;
  tail.hash = footer.hash;
  tail.elements = footer.elements;
  tail.bytes = footer.bytes;
  tail.regions = static_cast<uint32_t>(footer.regions.size());
  tail.subpartitions = footer.subpartitions;
  tail.fixed_record_size = footer.fixed_record_size;
  tail.to_all = footer.to_all ? 1 : 0;
  std::string out(reinterpret_cast<const char*>(footer.regions.data()),
                  footer.regions.size() * kRegionRecordBytes);
  tail.check = check_of(bytes_of(tail), out);
  return out.append(bytes_of(tail));
}

Result<uint64_t> decode_footer_offset(std::string_view bytes, uint64_t file_bytes) {
  if (bytes.size() != kTailBytes) return data_loss("it is shorter than a footer");
  const auto tail = read_as<Tail>(bytes);
  if (tail.magic != kMagic) return data_loss("it does not end with a footer");
  if (tail.version != kPartitionFileVersion) {
    return data_loss(fmt::format("its format has version {}; {} is expected", tail.version,
                                 kPartitionFileVersion));
  }
  const uint64_t footer_bytes = uint64_t{tail.regions} * kRegionRecordBytes + kTailBytes;
  if (footer_bytes > file_bytes || tail.footer != file_bytes - footer_bytes)
    return data_loss("its footer is not where it says");
  return tail.footer;
}

Result<PartitionFooter> decode_footer(std::string_view bytes, uint64_t file_bytes) {
  if (bytes.size() < kTailBytes || bytes.size() > file_bytes)
    return data_loss("its footer is too short");
  const std::string_view last = bytes.substr(bytes.size() - kTailBytes);
  ASSIGN_OR_RETURN(const uint64_t offset, decode_footer_offset(last, file_bytes));
  const std::string_view records = bytes.substr(0, bytes.size() - kTailBytes);
  const auto tail = read_as<Tail>(last);
  if (offset != file_bytes - bytes.size() || tail.check != check_of(last, records))
    return data_loss("the checksum of its footer is wrong");
  PartitionFooter footer;
  footer.hash = tail.hash;
  footer.elements = tail.elements;
  footer.bytes = tail.bytes;
  footer.subpartitions = tail.subpartitions;
  footer.fixed_record_size = tail.fixed_record_size;
  footer.to_all = tail.to_all == 1;
  footer.regions.resize(tail.regions);
  if (!records.empty()) std::memcpy(footer.regions.data(), records.data(), records.size());
  RETURN_IF_ERROR(check_regions(footer, offset));
  return footer;
}

}  // namespace freshet
