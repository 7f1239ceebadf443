#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/file_system.h"
#include "shuffle/partition_file_format.h"
#include "shuffle/read_pool.h"

namespace freshet {

/// True of the errors that say that a partition is not there any more, or damaged: its producer has
/// to run again, and reading once more does not help.
bool is_partition_lost(const Status& status);

/// A published partition file that is read. All errors name the path, and where in the file:
/// kNotFound when there is none, kDataLoss when it is damaged or cannot be read, kResourceExhausted
/// when it cannot be opened now.
///
/// Belongs to one thread at a time; may block.
class PartitionFile {
 public:
  static constexpr size_t kIndexBytesMax = 256u << 10;    // Of the index, in memory.
  static constexpr size_t kIndexBytesAtRest = 32u << 10;  // While nobody wants anything.

  PartitionFile(FileSystem& files, std::string path, std::shared_ptr<ReadPool> pool);
  ~PartitionFile();
  PartitionFile(const PartitionFile&) = delete;
  PartitionFile& operator=(const PartitionFile&) = delete;

  const std::string& path() const { return path_; }

  /// Lets the disk bring the footer, with as much of the index as is likely to be beside it. False
  /// when there is nothing to wait for: open() says why, or reads it itself.
  bool expect_footer();
  /// Reads the footer, before anything else is asked for.
  Status open();
  const PartitionFooter& footer() const { return footer_; }

  /// Where in the region something is for subpartitions [first, first + count), as it lies in the
  /// file. A region that is for all has one entry for all.
  Result<std::vector<IndexEntry>> find(uint32_t region, uint32_t first, uint32_t count);

  /// All of these bytes.
  Status read(uint64_t offset, char* to, size_t size);

  /// These bytes will be read soon. Small parts come with what is around them: that is wanted soon
  /// by somebody else.
  void expect(uint64_t offset, uint64_t size);
  /// What is expected stays so while nothing is read.
  bool stays_open() const { return kept_; }

  /// Nothing is read for now: closes it when too many are open. `idle`: nobody wants anything.
  void rest(bool idle);

  Status damaged(uint64_t offset, std::string_view what) const;

 private:
  Status open_file(uint64_t offset);
  void expect_around(uint64_t begin, uint64_t end);
  void expect_indexes();
  void forget_pages(size_t bytes_max);
  /// The same status when it says what to do, else that the file cannot be read.
  Status unless_lost(uint64_t offset, const Status& status) const;
  /// Valid until the next one.
  Result<const std::vector<IndexEntry>*> page(uint32_t region, uint32_t index);
  Status check_entry(const RegionRecord& region, const IndexEntry& entry) const;
  /// The last page that may hold the subpartition.
  Result<uint32_t> find_page(uint32_t region, uint32_t pages, uint32_t subpartition);

  FileSystem& files_;
  const std::string path_;
  const std::shared_ptr<ReadPool> pool_;
  const uint64_t around_bytes_;
  std::unique_ptr<ReadableFile> file_;
  bool kept_ = false;  // Is counted in the pool.
  PartitionFooter footer_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<IndexEntry>> pages_;
  std::deque<std::pair<uint32_t, uint32_t>> page_order_;  // As they were read.
  std::vector<bool> expected_;                            // Pieces of around_bytes_.
};

}  // namespace freshet
