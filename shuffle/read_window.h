#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "shuffle/partition_file_format.h"
#include "shuffle/read_pool.h"

namespace freshet {

/// A piece of one region that was read for one consumer together with what lies behind it: the
/// parts of the next consumers, who come soon and then need neither the disk nor its thread.
///
/// Immutable; the ReadPool counts its memory.
class ReadWindow {
 public:
  struct Part {
    IndexEntry entry;
    std::string_view bytes;  // As they are in the file; of the window.
  };

  /// `bytes` begin at `offset`. `entries` are those of the region for the subpartitions [first,
  /// end), rising; what is not whole in `bytes`, or before it, is not of the window. Null when the
  /// pool has no memory for it, or when nothing would be in it.
  static std::shared_ptr<const ReadWindow> make(ReadPool& pool, uint32_t region, uint64_t offset,
                                                std::string_view bytes,
                                                std::vector<IndexEntry> entries, uint32_t first,
                                                uint32_t end);
  ReadWindow(const ReadWindow&) = delete;
  ReadWindow& operator=(const ReadWindow&) = delete;

  uint32_t region() const { return region_; }
  /// It knows what the region has for this subpartition.
  bool covers(uint32_t subpartition) const { return subpartition - first_ < end_ - first_; }
  /// Nullopt when that is nothing.
  std::optional<Part> find(uint32_t subpartition) const;
  /// Lives on with what is used of it.
  const ConstBlockRef& memory() const { return memory_; }

 private:
  ReadWindow(uint32_t region, ConstBlockRef memory) : region_(region), memory_(std::move(memory)) {}

  const uint32_t region_;
  const ConstBlockRef memory_;
  uint64_t offset_ = 0;
  std::vector<IndexEntry> entries_;
  uint32_t first_ = 0;  // Of the subpartitions that it covers.
  uint32_t end_ = 0;
};

}  // namespace freshet
