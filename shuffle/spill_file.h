#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shuffle/buffer.h"
#include "shuffle/file_queue.h"

namespace freshet {

/// Buffers of one partition in a file: first in, first out. It is made when there is enough to
/// write, and goes some time after this object: whoever took everything should drop it. Neither
/// function waits for the disk, except that append() does while too much is not written yet.
///
/// What a partition owes dies with its process, and nobody else reads the file. All errors name the
/// path; after one, neither append() nor take() may be called again.
class SpillFile {
 public:
  /// A buffer without a block; `bytes` are valid until the next call.
  struct Taken {
    uint32_t subpartition = 0;
    Buffer buffer;
    std::string_view bytes;
  };

  explicit SpillFile(FileQueue::Options options)
      : queue_(std::make_shared<FileQueue>(std::move(options))) {}
  ~SpillFile() { FileQueue::close(std::move(queue_)); }
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  bool empty() const { return buffers_ == 0; }

  /// Copies the bytes: the block may go. Waits for nothing any more once `*cancelled` (may be
  /// null).
  Status append(uint32_t subpartition, const Buffer& buffer,
                const std::atomic<bool>* cancelled = nullptr);

  /// The oldest, when it is not empty; nullopt when that is not read yet: then it wakes. kDataLoss
  /// when the file does not hold what was put into it.
  Result<std::optional<Taken>> take();

  const std::string& path() const { return queue_->path(); }
  /// How long append() has waited for the disk in all.
  Duration waited() const { return queue_->waited(); }

 private:
  /// False when that much is not read yet.
  Result<bool> read(size_t bytes);
  uint64_t unread_bytes() const {
    return read_.size() - read_at_ + queued_bytes_ + unqueued_.size();
  }
  Status damaged(std::string_view what) const;

  std::shared_ptr<FileQueue> queue_;
  uint64_t buffers_ = 0;  // In all.
  // Behind each other: what was popped, what is in the queue, what is not yet.
  std::string read_;
  size_t read_at_ = 0;
  uint64_t queued_bytes_ = 0;
  std::string unqueued_;
};

}  // namespace freshet
