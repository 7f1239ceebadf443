#pragma once

#include <map>
#include <mutex>

#include "runtime/base/file_system.h"

namespace freshet {

/// Files in memory: tests and simulated hosts. Paths are absolute; `sync` does nothing.
/// Thread-safe.
class MemoryFileSystem final : public FileSystem {
 public:
  /// Bytes above which writing fails with kResourceExhausted.
  void set_capacity(uint64_t bytes);

  /// Every file, for assertions: path to content.
  std::map<std::string, std::string> files() const;

  /// Creates or replaces a file and its directories.
  void put(const std::string& path, std::string content);

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& directory) override;
  Status create_directories(const std::string& path) override;
  Status create_new_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& path) override;
  Status remove_empty_directory(const std::string& path) override;
  /// Of its capacity.
  uint64_t free_bytes() const;

 private:
  class Writer;
  class Reader;
  using Content =
      std::shared_ptr<std::string>;  // Shared with open files: a removed file stays readable.

  Status append(const Content&, const std::string& path, std::string_view bytes);
  void add_parents(const std::string& path);
  bool is_directory(const std::string& path) const;
  bool has_entries(const std::string& directory) const;
  Status rename_directory(const std::string& from, const std::string& to);

  mutable std::mutex mutex_;
  std::map<std::string, Content> files_;
  std::map<std::string, bool> directories_{{"/", true}};
  uint64_t capacity_ = ~0ull;
  uint64_t used_ = 0;
};

}  // namespace freshet
