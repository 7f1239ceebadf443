#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "shuffle/block_codec.h"
#include "shuffle/segment_pool.h"

namespace freshet {

// A result partition in one file, integers little-endian:
//
//   file   := region* footer
//   region := block* page*            blocks by subpartition, beginning with any of them; then its
//                                     index, by rising subpartition
//   block  := header payload          at most kLargeBlockBytes in all
//   header := u64 check               XXH3 of the rest of the header and of the payload
//             u64 first_element       of those that start here
//             u64 hash                rolling, after the last element that ends here
//             u32 subpartition        kAllSubpartitions: what all of them get
//             u32 stored_bytes        of the payload
//             u32 bytes               of the payload once it is decompressed
//             u32 elements_started
//             u32 tail_bytes          before the first element that starts here
//             u8  flags               kFrame... bits
//             u8  event               1: the payload is u8 ElementKind, fields
//             u8  codec
//             u8  0
//   page   := u64 check, u32 entries, u32 region, entry*     full but for the last one of a region
//   entry  := u32 subpartition, u32 elements, u64 offset, u64 bytes, u64 hash
//   footer := region_record* tail
//   region_record := u64 begin, u64 index, u32 entries, u32 for_all
//   tail   := u64 check               of all region_records, and of what follows
//             u64 footer, u64 hash, u64 elements, u64 bytes
//             u32 regions, u32 subpartitions, u32 fixed_record_size, u32 to_all
//             u32 version, u32 0, u64 magic
//
// What is empty is nowhere. Only the process that wrote a file reads it, so versions never mix.
//
// What goes to all is in regions of its own with one entry, for kAllSubpartitions. In a partition
// that is written to all, that is all there is, and its blocks have the numbers and hashes that
// every consumer sees. In others these differ from one to the next: they are events only, and a
// reader counts them itself.

inline constexpr uint32_t kAllSubpartitions = UINT32_MAX;
inline constexpr uint32_t kPartitionFileVersion = 1;

struct BlockHeader {
  uint64_t check = 0;
  uint64_t first_element = 0;
  uint64_t hash = 0;
  uint32_t subpartition = 0;
  uint32_t stored_bytes = 0;
  uint32_t bytes = 0;
  uint32_t elements_started = 0;
  uint32_t tail_bytes = 0;
  uint8_t flags = 0;
  uint8_t event = 0;
  uint8_t codec = 0;
  uint8_t zero = 0;

  bool operator==(const BlockHeader&) const = default;

  /// With `check`.
  void encode_to(char* out, std::string_view payload);
};

inline constexpr size_t kBlockHeaderBytes = 48;
/// So that a block in a file fits in a block of memory.
inline constexpr uint32_t kBlockPayloadMax =
    kLargeBlockBytes - static_cast<uint32_t>(kBlockHeaderBytes);

/// The header at the beginning of `bytes`, with sizes that can be; nothing else of it is checked.
/// kDataLoss also when there are too few bytes for it.
Result<BlockHeader> decode_block_header(std::string_view bytes);

/// What is at the beginning of `block`, header and payload, is what was written.
Status check_block(const BlockHeader& header, std::string_view block);

/// Where one subpartition's blocks of one region are.
struct IndexEntry {
  uint32_t subpartition = 0;
  uint32_t elements = 0;  // That start there.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;  // Rolling, after the last element that ends there.
  bool operator==(const IndexEntry&) const = default;

  uint64_t end() const { return offset + bytes; }
};

inline constexpr size_t kIndexEntryBytes = 32;
inline constexpr size_t kPageHeaderBytes = 16;
inline constexpr uint32_t kPageEntriesMax = 127;
inline constexpr size_t kPageBytesMax = kPageHeaderBytes + kPageEntriesMax * kIndexEntryBytes;

/// At most kPageEntriesMax, by rising subpartition.
std::string encode_index_page(uint32_t region, const std::vector<IndexEntry>& entries);
Result<std::vector<IndexEntry>> decode_index_page(uint32_t region, std::string_view bytes);

struct RegionRecord {
  uint64_t begin = 0;
  uint64_t index = 0;  // Where its blocks end.
  uint32_t entries = 0;
  uint32_t for_all = 0;
  bool operator==(const RegionRecord&) const = default;
};

inline constexpr size_t kRegionRecordBytes = 24;
inline constexpr size_t kTailBytes = 72;

/// What there is in a file.
struct PartitionFooter {
  uint64_t hash = 0;      // Of all that consumers get, however it is cut.
  uint64_t elements = 0;  // Written; what goes to all counts once.
  uint64_t bytes = 0;     // Of these.
  uint32_t subpartitions = 0;
  uint32_t fixed_record_size = 0;
  bool to_all = false;
  std::vector<RegionRecord> regions;
  bool operator==(const PartitionFooter&) const = default;
};

std::string encode_footer(const PartitionFooter& footer, uint64_t footer_offset);

/// Where the footer of a file begins, by its last kTailBytes; kDataLoss when they say nothing that
/// can be.
Result<uint64_t> decode_footer_offset(std::string_view tail, uint64_t file_bytes);
/// All from there to the end of the file. Regions tile what is before it.
Result<PartitionFooter> decode_footer(std::string_view bytes, uint64_t file_bytes);

}  // namespace freshet
