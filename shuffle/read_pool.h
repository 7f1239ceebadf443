#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/block.h"
#include "shuffle/segment_pool.h"

namespace freshet {

/// Memory for what is read from partition files and not taken yet, of all readers of a process.
/// Apart from that for buffers: so nobody who writes a partition can need what is held by the
/// readers of his inputs.
///
/// Thread-safe, one lock, under which nothing is called. Owned by shared_ptr.
class ReadPool : public std::enable_shared_from_this<ReadPool> {
 public:
  static constexpr size_t kRunBytesMax = 256u << 10;          // Read at once.
  static constexpr uint64_t kReadAheadBytesMax = 512u << 10;  // Of one reader.
  static constexpr uint64_t kWindowBytesMin = 4u << 10;
  static constexpr uint64_t kWindowBytesMax = 64u << 10;
  static constexpr uint32_t kFilesKeptMax = 512;  // Open while nothing is read from them.
  // What the disk reads around a small part: others want it soon. In the memory of the system,
  // which should not have forgotten it by then.
  static constexpr uint64_t kAroundBytesMin = 128u << 10;
  static constexpr uint64_t kAroundBytesMax = 1u << 20;
  static constexpr uint64_t kAroundBytesOfAll = 512u << 20;

  class Waiter {
   public:
    virtual ~Waiter() = default;
    /// There is memory again. On the thread that gave it back.
    virtual void on_memory() = 0;
  };

  static std::shared_ptr<ReadPool> create(uint64_t bytes);
  /// The last to use it.
  ~ReadPool();

  /// True while there is memory left. False: whoever waits is told when a quarter is free.
  bool available() const { return account_->available(); }
  void wait(std::weak_ptr<Waiter> waiter);

  /// A block that holds so many bytes, at most kLargeBlockBytes; from the heap when there is none
  /// left.
  BlockRef allocate(uint32_t bytes);

  uint64_t held_bytes() const { return account_->held_bytes(); }
  uint64_t total_bytes() const { return pool_->total_bytes(); }

  /// Each reader counts. What one may have read and not taken, so that all can have something.
  void add_reader() { readers_.fetch_add(1); }
  void remove_reader() { readers_.fetch_sub(1); }
  uint64_t read_ahead_bytes() const;

  /// Each file that is read counts. What may be kept of one beside, for those who come next; see
  /// ReadWindow. All windows together hold at most half of what the pool was made with.
  void add_file() { files_.fetch_add(1); }
  void remove_file() { files_.fetch_sub(1); }
  uint64_t window_bytes() const;
  /// Of each file.
  uint64_t around_bytes() const;
  /// Null when there is no memory for one of so many bytes.
  BlockRef allocate_window(uint32_t bytes);
  uint64_t windows_held_bytes() const { return windows_->held_bytes(); }

  /// Memory of kRunBytesMax to read to; to be given back.
  std::unique_ptr<char[]> take_scratch();
  void give_scratch(std::unique_ptr<char[]> scratch);

  /// False when too many files stay open already. Each that may is counted until it is closed.
  bool keep_file();
  void forget_file() { files_kept_.fetch_sub(1); }

 private:
  explicit ReadPool(uint64_t bytes);
  void tell_waiters();

  const std::shared_ptr<SegmentPool> pool_;
  std::shared_ptr<MemoryAccount> account_;
  const std::shared_ptr<MemoryAccount> windows_;
  std::atomic<uint32_t> readers_{0};
  std::atomic<uint32_t> files_kept_{0};
  std::atomic<uint32_t> files_{0};

  Mutex mutex_;
  std::vector<std::weak_ptr<Waiter>> waiters_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<char[]>> scratch_ GUARDED_BY(mutex_);
};

}  // namespace freshet
