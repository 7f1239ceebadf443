#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/base/faults.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/partition_file.h"
#include "shuffle/partition_reader.h"
#include "shuffle/read_window.h"

namespace freshet {

/// Reads one partition file for all who want something of it. It goes through the file in sweeps:
/// in each one it serves every reader that wanted something when the sweep began once, by rising
/// offset; who wants more waits for the next sweep, whatever it wants. What lies behind each other
/// is read at once.
///
/// Readers that do not take hold up nobody: each may be a part of the pool ahead, and when that is
/// empty a reader whose consumer waits gets a block all the same.
///
/// Owned by shared_ptr, by its readers, whom it does not own, and what the executor has still to
/// do. Thread-safe; one lock, under which those of readers are taken.
class FileElevator final : public ReadPool::Waiter,
                           public std::enable_shared_from_this<FileElevator> {
 public:
  struct Options {
    FileSystem* files = nullptr;
    std::string path;
    Executor* executor = nullptr;  // Reads the file; may block.
    std::shared_ptr<ReadPool> pool;
    std::function<void()> on_lost = {};  // The file cannot be read. On the executor; may be empty.
    Faults* faults = nullptr;
  };

  explicit FileElevator(Options options);
  ~FileElevator() override;

  /// Begins at once. Also when there is no such file: the reader hears of that.
  std::shared_ptr<PartitionReader> read(PartitionReader::Options options);

  /// Adds all that the subpartition has, from its beginning, when that was read already with what
  /// others wanted. False, and nothing is added: read() it.
  bool take_at_hand(uint32_t subpartition, std::vector<Buffer>* buffers);

  void on_memory() override;

  /// What its partition is once something of it was read.
  bool written_to_all() const { return to_all_.load(std::memory_order_acquire); }
  Status damaged(uint64_t offset, std::string_view what) const;

 private:
  friend class PartitionReader;
  using Reader = std::shared_ptr<PartitionReader>;
  using ReaderHere = std::weak_ptr<PartitionReader>;  // As long as its consumer has it.
  using Hands = PartitionReader::Hands;
  /// What is read for one reader: the next of its bytes.
  struct Part {
    Reader reader;
    uint64_t offset = 0;
    size_t size = 0;
  };

  using Windows = std::vector<std::shared_ptr<const ReadWindow>>;
  static constexpr size_t kWindowsMax = 16;             // One of each region; of more regions none.
  static constexpr uint64_t kExpectedBytes = 2u << 20;  // The disk is so far ahead of a reader.

  bool take_part(const ReadWindow& window, uint32_t subpartition, uint64_t* elements,
                 std::vector<Buffer>* buffers) const;
  /// Gives a reader that comes what was read already for those before it.
  void serve_from_windows(PartitionReader& reader);
  /// The reader may want something.
  void request(const Reader& reader);

  void run();
  /// True once the file is open; else whoever came has to wait, or has failed.
  bool open_file();
  /// Takes in those that came. False when there were none.
  bool admit();
  /// Finds out what it wants next, and puts it into the next sweep.
  void place(const Reader& reader);
  Status advance(PartitionReader& reader);
  /// What it has in the next region in which it has something, if there is one.
  Status look_ahead(PartitionReader& reader);
  void expect_wanted(PartitionReader& reader);
  /// What to read now, of readers whose parts lie behind each other.
  std::vector<Part> next_run();
  void note_lost(const Status& status) const;
  void park(const Reader& reader);
  bool give_from_window(const Reader& reader);
  void read_run(const std::vector<Part>& parts);
  /// How much to read from there on instead of `size`, for those who come next.
  size_t widen(const Part& first, size_t size) const;
  void keep_window(const PartitionReader::Wanted& first, std::string_view bytes);
  Status give(const Part& part, std::string_view bytes);
  /// The whole blocks at the beginning of `bytes`, which are at `offset` in the file.
  Result<std::vector<PartitionReader::Stored>> cut(uint32_t subpartition, uint64_t offset,
                                                   std::string_view bytes) const;
  /// Nothing is wanted of it now, unless it is.
  void let_go(const Reader& reader);
  void post_run() REQUIRES(mutex_);

  const Options options_;

  // Of the run under way, of which there is one at a time.
  std::unique_ptr<PartitionFile> file_;
  bool is_open_ = false;
  std::multimap<uint64_t, ReaderHere> sweep_;  // By offset.
  std::multimap<uint64_t, ReaderHere> next_sweep_;
  std::atomic<bool> to_all_{false};

  Mutex mutex_;
  uint64_t next_serial_ GUARDED_BY(mutex_) = 0;
  std::vector<ReaderHere> came_ GUARDED_BY(mutex_);
  uint32_t regions_ GUARDED_BY(mutex_) = 0;                   // Of the file, once it was read.
  Windows windows_ GUARDED_BY(mutex_);                        // The newest last.
  std::map<uint64_t, ReaderHere> parked_ GUARDED_BY(mutex_);  // By serial; for want of memory.
  bool posted_ GUARDED_BY(mutex_) = false;
};

}  // namespace freshet
