#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "state/spill_space.h"

namespace freshet {

// Bytes of a run:
//
//   run   := block*
//   block := u32 size             of what is in it; its highest bit: compressed with LZ4
//            u32 stored size      of the bytes that follow
//            u64 checksum         of these (XXH3) and of both sizes
//            bytes
//
// What is in the blocks, one after the other, is entries, which may span them:
//
//   entry := varint key size, varint value size, key, value

/// A run that was written.
struct SortedRun {
  std::unique_ptr<SpilledBytes> bytes;
  uint64_t entries = 0;
  uint64_t size_bytes = 0;  // Of the entries.
};

/// Writes entries, which come in the order of their keys, into a run.
class RunWriter {
 public:
  static constexpr size_t kBlockBytes = 64u << 10;

  explicit RunWriter(SpillSpace&);
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  Status add(std::string_view key, std::string_view value);
  /// After the last entry.
  Result<SortedRun> finish();

 private:
  Status write(std::string_view bytes);
  Status write_slowly(std::string_view bytes);
  Status write_block();

  SortedRun run_;
  const bool compress_;
  std::string block_;
  size_t size_ = 0;  // Of the block.
};

/// Gives the entries of a run again.
class RunReader {
 public:
  explicit RunReader(SortedRun run) : run_(std::move(run)) {}

  /// Goes to the next entry, or the first; false when there is none. kDataLoss when the bytes are
  /// not those that were written.
  Result<bool> next();

  // Of the entry; valid until the next call of next().
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  Result<bool> fill(size_t bytes);
  Result<bool> read_block();
  Result<bool> read_raw(size_t bytes);
  Status damaged(const char* what) const;

  SortedRun run_;
  uint64_t entries_ = 0;
  std::string raw_;  // What was read and is in no block yet.
  size_t raw_at_ = 0;
  std::string block_;  // What is left of blocks.
  size_t at_ = 0;
  std::string_view key_;
  std::string_view value_;
};

}  // namespace freshet
