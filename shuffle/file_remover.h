#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/temp_directories.h"

namespace freshet {

/// Removes files of temporary directories in the order in which it was told to, a few at a time:
/// who writes or reads beside it waits for those, not for all that a large job leaves.
///
/// Owned by shared_ptr, by what it posts; what is left when nobody owns it is removed then.
/// Thread-safe, one lock, under which nothing is called.
class FileRemover : public std::enable_shared_from_this<FileRemover> {
 public:
  static constexpr size_t kAtOnce = 8;

  FileRemover(FileSystem* files, Executor* executor, std::shared_ptr<TempDirectories> directories);
  ~FileRemover();
  FileRemover(const FileRemover&) = delete;
  FileRemover& operator=(const FileRemover&) = delete;

  /// What is called so in the directories is in use: it stays, whatever was said of it before.
  void keep(const std::string& below);

  void remove(std::string path);
  /// These files first, then what is called `below` in each directory with all that is left in it,
  /// unless it is in use again by then.
  void remove_all(std::vector<std::string> paths, const std::string& below);

 private:
  struct Item {
    std::string path;
    bool is_directory = false;  // Then it is what is called so in each.
  };

  void post_if(bool needed);
  void run();
  bool remove_next();

  FileSystem* const files_;
  Executor* const executor_;
  const std::shared_ptr<TempDirectories> directories_;
  Mutex mutex_;
  std::deque<Item> items_ GUARDED_BY(mutex_);
  std::set<std::string> kept_ GUARDED_BY(mutex_);
  bool posted_ GUARDED_BY(mutex_) = false;
};

}  // namespace freshet
