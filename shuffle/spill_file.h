#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/file_system.h"
#include "shuffle/buffer.h"

namespace freshet {

/// Buffers of one partition in a file: first in, first out. The file is made when there is enough
/// to write, only grows, and goes with this object: whoever took everything should drop it. Nothing
/// is synced: what a partition owes dies with its process.
///
/// All errors name the path; after one, neither append() nor take() may be called again.
class SpillFile {
 public:
  /// A buffer without a block; `bytes` are valid until the next call.
  struct Taken {
    uint32_t subpartition = 0;
    Buffer buffer;
    std::string_view bytes;
  };

  SpillFile(FileSystem& files, std::string directory, const std::string& name)
      : files_(files), directory_(std::move(directory)), path_(directory_ + "/" + name) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  bool empty() const { return buffers_ == 0; }

  /// Copies the bytes: the block may go.
  Status append(uint32_t subpartition, const Buffer& buffer);

  /// The oldest, when there is one. kDataLoss when the file does not hold what was put into it.
  Result<Taken> take();

  const std::string& path() const { return path_; }

 private:
  Status write_out();
  Status create_file();
  Status read_at_least(size_t bytes);
  Status read_more(size_t bytes);
  uint64_t unread_bytes() const {
    return read_.size() - read_at_ + (written_bytes_ - read_offset_) + unwritten_.size();
  }
  Status damaged(std::string_view what) const;

  FileSystem& files_;
  const std::string directory_;
  const std::string path_;

  uint64_t buffers_ = 0;  // In all.
  // Behind each other: what was read, the file from `read_offset_` on, what was not written yet.
  std::string read_;
  size_t read_at_ = 0;
  uint64_t read_offset_ = 0;
  uint64_t written_bytes_ = 0;
  std::string unwritten_;
  std::unique_ptr<WritableFile> writer_;
  std::unique_ptr<ReadableFile> reader_;
};

}  // namespace freshet
