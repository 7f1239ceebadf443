#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/spill_place.h"

namespace freshet {

/// Directories for temporary files, perhaps on as many disks: files go to them in turn. One of
/// which a file could not be written or read is left out as long as there is another, so that what
/// is made again is made elsewhere; one that is full comes after the others until something was
/// removed.
///
/// Owned by shared_ptr, by the places that it gave. Thread-safe, one lock, under which nothing is
/// called.
class TempDirectories : public std::enable_shared_from_this<TempDirectories> {
 public:
  /// place.directory, and place.others.
  explicit TempDirectories(SpillPlace place);

  /// Where the next file goes: in `below` of one of them, or in itself if that is empty. Whoever
  /// uses it tells errors by its on_error, and what was removed by on_removed.
  SpillPlace next(std::string_view below);

  std::vector<std::string> all() const;

  /// A file could not be read: that directory is left out if nothing can be written to it either.
  /// May block.
  void on_read_error(const std::string& path);
  /// What is full may not be full any more.
  void on_removed();

  /// It is there and files can be made in it. May block. Errors name it.
  static Status check(FileSystem& files, const std::string& directory);

 private:
  enum class State : uint8_t { kWorks, kFull, kFailed };
  struct Directory {
    std::string path;
    State state = State::kWorks;
  };

  void on_error(size_t index, const Status& status);
  bool is_left_out(size_t index) const;
  void leave_out(size_t index, State state, const Status& cause);

  const SpillPlace place_;
  mutable Mutex mutex_;
  std::vector<Directory> directories_ GUARDED_BY(mutex_);
  size_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet
