#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/spill_place.h"

namespace freshet {

/// Bytes that pass through a file, first in, first out. One thread pushes and pops; an executor
/// writes, and reads ahead of what is popped. The file is made by the first write, only grows, and
/// is removed by the executor after close(). It is open for writing until end(), and for reading
/// from the first read on. Nothing is synced. In memory are at most kUnwrittenBytesMax and what was
/// pushed last, and twice kReadBytes.
///
/// Owned by shared_ptr, with what the executor has still to do. All but path() belongs to one
/// thread. All errors name the path; after one nothing else is done.
class FileQueue final : public std::enable_shared_from_this<FileQueue> {
 public:
  static constexpr uint64_t kUnwrittenBytesMax = 256u << 10;
  static constexpr uint64_t kReadBytes = 64u << 10;

  struct Options {
    SpillPlace place;
    std::string name;  // Of the file.
    // Called on the executor when pop() had nothing and has something now, and after an error. It
    // may still run when close() has returned. May be empty.
    std::function<void()> wake;
    std::string what = "output that the consumers have not taken";  // It is: for errors.
  };

  explicit FileQueue(Options options);
  ~FileQueue();

  /// Appends `bytes`. Does not wait for the disk before it is kUnwrittenBytesMax behind; and then
  /// not any longer once `*cancelled` (may be null). Not ok when something could not be written or
  /// read.
  Status push(std::string bytes, const std::atomic<bool>* cancelled);

  /// Nothing more will be pushed.
  void end();

  /// The next of what was pushed and not popped, of which there is some: at least a byte, or
  /// nothing when it is still on its way. kDataLoss when the file does not hold it any more.
  Result<std::string> pop();
  /// Waits for the disk until pop() has something, or an error; no longer once `*cancelled`.
  void wait_for_next(const std::atomic<bool>& cancelled);

  /// How long push() has waited for the disk in all.
  Duration waited() const { return waited_; }

  /// Drops what is inside. The executor is the last owner and removes the file; no thread waits for
  /// a disk here.
  static void close(std::shared_ptr<FileQueue> queue);

  const std::string& path() const { return path_; }

 private:
  /// False when nobody can wait.
  bool wait_for_room(const std::atomic<bool>* cancelled);
  bool has_room() REQUIRES(mutex_);
  /// True: the caller must post run().
  bool must_post() REQUIRES(mutex_);
  bool has_next() const REQUIRES(mutex_);
  bool need_not_wait() const REQUIRES(mutex_) { return has_next() || !status_.ok(); }
  void post_run();
  void run();
  /// False when there is nothing to write, or to read.
  bool write_one();
  bool read_one();
  void close_written();
  void note_error(const Status& status) const;
  Status write(const std::string& bytes) REQUIRES(io_mutex_);
  Result<std::string> read(uint64_t offset, uint64_t bytes) REQUIRES(io_mutex_);
  void fail(Status status) REQUIRES(mutex_);

  const Options options_;
  const std::string path_;
  Duration waited_{};  // Of the thread that pushes.

  // Held while the file is used, perhaps for long; never within `mutex_`.
  Mutex io_mutex_;
  std::unique_ptr<WritableFile> writer_ GUARDED_BY(io_mutex_);
  std::unique_ptr<ReadableFile> reader_ GUARDED_BY(io_mutex_);
  bool is_there_ GUARDED_BY(io_mutex_) = false;

  Mutex mutex_;
  std::condition_variable_any changed_;
  // Behind each other: what was read, the file from `read_bytes_` on, what is being written, what
  // waits for that.
  std::string read_ahead_ GUARDED_BY(mutex_);
  uint64_t read_bytes_ GUARDED_BY(mutex_) = 0;  // In all, like those written.
  uint64_t written_bytes_ GUARDED_BY(mutex_) = 0;
  bool writing_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;
  bool writes_ended_ GUARDED_BY(mutex_) = false;  // And all is written.
  std::deque<std::string> unwritten_ GUARDED_BY(mutex_);
  uint64_t unwritten_bytes_ GUARDED_BY(mutex_) = 0;  // With what is being written.
  bool reads_ GUARDED_BY(mutex_) = false;            // pop() was called.
  bool waits_ GUARDED_BY(mutex_) = false;            // And had nothing.
  bool posted_ GUARDED_BY(mutex_) = false;           // run() will look.
  bool closed_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
};

}  // namespace freshet
