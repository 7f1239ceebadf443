#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/file_system.h"

namespace freshet::testing {

/// The local files, for tests that change something about them.
class ForwardingFileSystem : public FileSystem {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return local_->open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return local_->create(path);
  }
  Result<FileInfo> info(const std::string& path) override { return local_->info(path); }
  Result<std::vector<FileInfo>> list(const std::string& directory) override {
    return local_->list(directory);
  }
  Status create_directories(const std::string& path) override {
    return local_->create_directories(path);
  }
  Status create_new_directory(const std::string& path) override {
    return local_->create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return local_->rename(from, to);
  }
  Status rename_unsynced(const std::string& from, const std::string& to) override {
    return local_->rename_unsynced(from, to);
  }
  Status remove(const std::string& path) override { return local_->remove(path); }
  Status remove_all(const std::string& path) override { return local_->remove_all(path); }
  Status remove_empty_directory(const std::string& path) override {
    return local_->remove_empty_directory(path);
  }

 private:
  const std::unique_ptr<FileSystem> local_ = make_local_file_system();
};

}  // namespace freshet::testing
