#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/spill_place.h"

namespace freshet {

/// A file that an executor writes behind the thread that fills it, and that has its name only once
/// it is whole. Nothing is synced: who reads it does so before this host can have crashed.
///
/// Owned by shared_ptr, with what the executor has still to do. spare(), append(), publish() and
/// abandon() belong to one thread; has_room() and outcome() to any. All errors name the path; when
/// the disk is full they say how much is free. After one nothing else is done.
class WriteBehind final : public std::enable_shared_from_this<WriteBehind> {
 public:
  static constexpr size_t kPieceBytes = 256u << 10;
  static constexpr size_t kPiecesMax = 4;  // That are not written yet.

  struct Options {
    SpillPlace place;
    std::string name;  // Of the file; it is `.part` longer before it is published.
    // Called on the executor when has_room() was found false and has become true, and with the
    // outcome. It may still run when abandon() has returned.
    std::function<void()> wake;
  };

  /// Memory of kPieceBytes that is filled from its beginning.
  struct Piece {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
    size_t room() const { return kPieceBytes - size; }
    void append(std::string_view more);  // At most room().
  };

  explicit WriteBehind(Options options);
  ~WriteBehind();

  /// One to fill.
  Piece spare();

  /// Puts the piece behind what was written. Does not wait for the disk before it is kPiecesMax
  /// behind; and then not any longer once `*cancelled` (may be null). Not ok when something could
  /// not be written.
  Status append(Piece piece, const std::atomic<bool>* cancelled);

  /// False while the disk is behind: whoever has time should wait.
  bool has_room() const;

  /// Gives it its name, once all is written. Once.
  void publish();

  /// Whether that went well; nullopt before it is known.
  std::optional<Status> outcome() const;

  /// How long append() has waited for the disk in all.
  Duration waited() const { return waited_; }

  /// Removes the file, if it has not its name yet; the executor does.
  static void abandon(std::shared_ptr<WriteBehind> file);

  const std::string& path() const { return path_; }

 private:
  /// False when nobody can wait.
  bool wait_for_room(const std::atomic<bool>* cancelled);
  bool is_far_behind() const REQUIRES(mutex_) { return pieces_.size() + writing_ > kPiecesMax; }
  void post_run() REQUIRES(mutex_);
  void run();
  /// False when there is nothing to write.
  bool write_one();
  Status write(const Piece& piece) REQUIRES(io_mutex_);
  /// Once there is nothing more to write.
  void finish();
  Status close_and_rename() REQUIRES(io_mutex_);
  /// As if the disk had failed there.
  Status pass(std::string_view mark) const;
  /// Of writing it or giving it its name: what is there of it goes.
  void fail(const Status& status) REQUIRES(io_mutex_);

  const Options options_;
  const std::string path_;
  const std::string part_;
  Duration waited_{};  // Of the thread that appends.

  // Held while the file is used, perhaps for long; never within `mutex_`.
  Mutex io_mutex_;
  std::unique_ptr<WritableFile> file_ GUARDED_BY(io_mutex_);
  bool is_there_ GUARDED_BY(io_mutex_) = false;  // Under the name that is longer.

  mutable Mutex mutex_;
  std::condition_variable_any room_;
  std::deque<Piece> pieces_ GUARDED_BY(mutex_);
  std::vector<Piece> spare_ GUARDED_BY(mutex_);
  uint64_t written_bytes_ GUARDED_BY(mutex_) = 0;
  size_t writing_ GUARDED_BY(mutex_) = 0;  // 1 while a piece is being written.
  bool posted_ GUARDED_BY(mutex_) = false;
  mutable bool waits_ GUARDED_BY(mutex_) = false;  // has_room() was false.
  bool publishes_ GUARDED_BY(mutex_) = false;
  bool abandoned_ GUARDED_BY(mutex_) = false;
  std::optional<Status> outcome_ GUARDED_BY(mutex_);
};

}  // namespace freshet
