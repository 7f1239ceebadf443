#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/file_system.h"

namespace freshet {

/// What a task wrote to one path since it created the file there.
struct RecordedFile {
  std::string content;
  bool closed = false;  // In good order: nothing more was to come.
};

/// By path. A file is in it once something was appended, be it nothing: marks that only say "I am
/// here" are no output.
using RecordedFiles = std::map<std::string, RecordedFile>;

/// Does as the files given do, and records what is written successfully. Not thread-safe: for
/// tasks that run on one thread. What is recorded in and `alive` outlive it and the files it opens;
/// while `alive()` is false nothing is recorded.
class RecordingFileSystem final : public FileSystem {
 public:
  RecordingFileSystem(FileSystem& files, RecordedFiles& to, const std::function<bool()>& alive)
      : files_(files), to_(to), alive_(alive) {}

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return files_.open(path);
  }
  Result<FileInfo> info(const std::string& path) override { return files_.info(path); }
  Result<std::vector<FileInfo>> list(const std::string& directory) override {
    return files_.list(directory);
  }
  Status create_directories(const std::string& path) override {
    return files_.create_directories(path);
  }
  Status create_new_directory(const std::string& path) override {
    return files_.create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Status remove(const std::string& path) override { return files_.remove(path); }
  Status remove_all(const std::string& path) override { return files_.remove_all(path); }
  Status remove_empty_directory(const std::string& path) override {
    return files_.remove_empty_directory(path);
  }

 private:
  class Writer;

  FileSystem& files_;
  RecordedFiles& to_;
  const std::function<bool()>& alive_;
};

}  // namespace freshet
