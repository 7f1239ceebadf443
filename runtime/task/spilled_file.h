#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/spill_place.h"
#include "state/spill_space.h"

namespace freshet {

/// A file that is written from its beginning and then read from its beginning, by an executor: one
/// thread hands it what to write, and later takes what was read ahead. It waits only where the disk
/// is too far behind, or has not read yet what is wanted. The file is there from the first write to
/// close(), and open while it is written or read. Nothing is synced: it dies with its process.
///
/// Owned by shared_ptr, with what the executor has still to do. push(), end(), pop() and close()
/// belong to one thread. All errors name the path, and what is free when the disk is full; after
/// one nothing else is done.
class SpilledFile final : public std::enable_shared_from_this<SpilledFile> {
 public:
  static constexpr uint64_t kUnwrittenBytesMax = 256u << 10;
  static constexpr uint64_t kReadBytes = 64u << 10;

  /// Neither waits any longer once `*cancelled`, which outlives it until close().
  SpilledFile(SpillPlace place, const std::string& name, const std::atomic<bool>& cancelled);
  ~SpilledFile();

  Status push(std::string bytes);
  /// Nothing more will be pushed.
  void end();

  /// After end(): what comes next, empty behind the last byte.
  Result<std::string> pop();

  /// Drops what is inside. The executor is the last owner and removes the file.
  static void close(std::shared_ptr<SpilledFile> file);

  const std::string& path() const { return path_; }

 private:
  enum class Wait : uint8_t { kForRoom, kForBytes };

  bool wait(Wait);
  bool is_over(Wait) REQUIRES(mutex_);
  bool look(Wait);
  void post_run() REQUIRES(mutex_);
  void run();
  /// False when there is nothing to write, or to read.
  bool write_one();
  bool end_writing();
  bool read_one();
  Status write(const std::string& bytes) REQUIRES(io_mutex_);
  Result<std::string> read(uint64_t offset, uint64_t bytes) REQUIRES(io_mutex_);
  Status with_free_space(const Status& status) const;

  const SpillPlace place_;
  const std::string path_;
  const std::atomic<bool>& cancelled_;

  // Held while the file is used, perhaps for long; never within `mutex_`.
  Mutex io_mutex_;
  std::unique_ptr<WritableFile> writer_ GUARDED_BY(io_mutex_);
  std::unique_ptr<ReadableFile> reader_ GUARDED_BY(io_mutex_);
  bool is_there_ GUARDED_BY(io_mutex_) = false;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> unwritten_ GUARDED_BY(mutex_);
  uint64_t unwritten_bytes_ GUARDED_BY(mutex_) = 0;  // With what is being written.
  uint64_t written_bytes_ GUARDED_BY(mutex_) = 0;
  std::string read_ahead_ GUARDED_BY(mutex_);
  uint64_t read_bytes_ GUARDED_BY(mutex_) = 0;  // In all, like those written.
  bool ended_ GUARDED_BY(mutex_) = false;
  bool still_open_ GUARDED_BY(mutex_) = true;  // For writing.
  bool reads_ GUARDED_BY(mutex_) = false;      // pop() was called.
  bool posted_ GUARDED_BY(mutex_) = false;     // run() will look.
  bool closed_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
};

/// The spill space of one operator of one attempt.
class TaskSpillSpace final : public SpillSpace {
 public:
  struct Options {
    SpillPlace place;
    std::string name;  // Of its files, with a number behind it.
    uint64_t memory_bytes = kLeastMemoryBytes;
    bool compresses = false;
  };

  /// `cancelled` outlives it and what it made.
  TaskSpillSpace(Options options, const std::atomic<bool>& cancelled)
      : options_(std::move(options)), cancelled_(cancelled) {}

  uint64_t memory_bytes() const override { return options_.memory_bytes; }
  bool compresses() const override { return options_.compresses; }
  std::unique_ptr<SpilledBytes> make() override;

 private:
  class File;

  const Options options_;
  const std::atomic<bool>& cancelled_;
  uint64_t made_ = 0;
};

}  // namespace freshet
