#include "shuffle/file_remover.h"

#include <utility>

#include "runtime/base/log.h"

namespace freshet {

FileRemover::FileRemover(FileSystem* files, Executor* executor,
                         std::shared_ptr<TempDirectories> directories)
    : files_(files), executor_(executor), directories_(std::move(directories)) {}

FileRemover::~FileRemover() {
  while (remove_next()) {
  }
}

void FileRemover::keep(const std::string& below) {
  MutexLock lock(mutex_);
  kept_.insert(below);
}

void FileRemover::remove(std::string path) {
  bool first = false;
  {
    MutexLock lock(mutex_);
    items_.push_back({std::move(path), false});
    first = !std::exchange(posted_, true);
  }
  post_if(first);
}

void FileRemover::remove_all(std::vector<std::string> paths, const std::string& below) {
  bool first = false;
  {
    MutexLock lock(mutex_);
    for (std::string& path : paths) items_.push_back({std::move(path), false});
    items_.push_back({below, true});
    kept_.erase(below);
    first = !std::exchange(posted_, true);
  }
  post_if(first);
}

void FileRemover::post_if(bool needed) {
  if (needed) executor_->post("files_removed", [self = shared_from_this()] { self->run(); });
}

void FileRemover::run() {
  bool left = true;
  for (size_t i = 0; i < kAtOnce && left; ++i) left = remove_next();
  directories_->on_removed();
  {
    MutexLock lock(mutex_);
    left = posted_ = !items_.empty();
  }
  post_if(left);
}

/// False when there was none.
bool FileRemover::remove_next() {
  Item item;
  {
    MutexLock lock(mutex_);
    if (items_.empty()) return false;
    item = std::move(items_.front());
    items_.pop_front();
    // Files of it are made by the executor: those that are in use again are not there yet.
    if (item.is_directory && kept_.contains(item.path)) return true;
  }
  const auto check = [](const std::string& path, const Status& status) {
    if (!status.ok() && status.code() != StatusCode::kNotFound)
      LOG_WARN("partition_file_not_removed", {{"path", path}, {"cause", status}});
  };
  if (!item.is_directory) {
    check(item.path, files_->remove(item.path));
    return true;
  }
  for (const std::string& directory : directories_->all()) {
    const std::string path = directory + "/" + item.path;
    check(path, files_->remove_all(path));
  }
  return true;
}

}  // namespace freshet
