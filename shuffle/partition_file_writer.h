#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shuffle/partition_file_format.h"
#include "shuffle/write_behind.h"

namespace freshet {

/// Writes the regions of one partition to its file, block by block, and the index behind each.
/// Holds what is not written yet, at most WriteBehind::kPiecesMax + 2 pieces, the index of the
/// region under way and 24 bytes for each before it.
///
/// Belongs to one thread, except as WriteBehind says. After an error nothing else is done.
class PartitionFileWriter {
 public:
  struct Options {
    WriteBehind::Options file;
    BlockCodec codec = BlockCodec::kLz4;
    uint32_t subpartitions = 1;
    uint32_t fixed_record_size = 0;
    bool to_all = false;
  };

  explicit PartitionFileWriter(Options options);
  /// What was not published is removed.
  ~PartitionFileWriter() { WriteBehind::abandon(std::move(file_)); }
  PartitionFileWriter(const PartitionFileWriter&) = delete;
  PartitionFileWriter& operator=(const PartitionFileWriter&) = delete;

  /// Nothing is waited for any more once `*cancelled`, which outlives this.
  void watch(const std::atomic<bool>* cancelled) { cancelled_ = cancelled; }
  /// Before the first block.
  void set_to_all() { footer_.to_all = true; }

  /// Adds a block to the region: blocks of a subpartition behind each other. Of `header` sizes,
  /// codec and check are not looked at. `parts` make up the payload.
  Status put(BlockHeader header, std::span<const std::string_view> parts);

  /// What comes next is another region. Nothing when this one is empty.
  Status end_region();

  /// Writes the footer and gives the file its name. `hash` as in PartitionFooter.
  Status finish(uint64_t hash);

  /// False while the disk is behind.
  bool has_room() const { return file_->has_room(); }
  /// How it went: an error, or that the file has its name.
  std::optional<Status> outcome() const { return file_->outcome(); }
  Duration waited() const { return file_->waited(); }
  const std::string& path() const { return file_->path(); }

  uint64_t file_bytes() const { return offset_; }
  const PartitionFooter& footer() const { return footer_; }

 private:
  Status make_room(size_t bytes);
  Status append(std::string_view bytes);
  size_t store(std::span<const std::string_view> parts, BlockHeader* header, char* to);
  void add_to_index(const BlockHeader& header);

  const Options options_;
  std::shared_ptr<WriteBehind> file_;
  const std::atomic<bool>* cancelled_ = nullptr;
  BlockCompressor compressor_;
  std::unique_ptr<char[]> scratch_;  // Of parts that are to be compressed as one.
  WriteBehind::Piece piece_;
  uint64_t offset_ = 0;  // Of the end of all, in the file.
  PartitionFooter footer_;
  uint64_t region_begin_ = 0;
  std::vector<IndexEntry> entries_;  // Of the region under way.
};

}  // namespace freshet
