#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/disk_switches.h"
#include "runtime/base/file_system.h"

namespace freshet {

/// Other files, on a disk that is full, slow or broken when switches say so. Errors read like those
/// of the operating system.
///
/// A full disk takes a part of what is appended, makes no file and no directory, and still reads,
/// renames and removes. Whoever waits for a slow one goes on at once when it is no longer so.
class FaultyFileSystem final : public FileSystem {
 public:
  struct Place {
    std::string directory;  // What is below it. Empty: everywhere that has no other place.
    DiskFiles files;
  };

  /// `places`: the longest that fits counts. What has none is always in order.
  FaultyFileSystem(std::unique_ptr<FileSystem> files, std::shared_ptr<DiskSwitches> switches,
                   std::vector<Place> places);

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& directory) override;
  Status create_directories(const std::string& path) override;
  Status create_new_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status rename_unsynced(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& path) override;
  Status remove_empty_directory(const std::string& path) override;

 private:
  class Reader;
  class Writer;
  enum class Operation { kReads, kWrites, kNeedsRoom };

  std::optional<DiskFiles> files_at(const std::string& path) const;
  /// Waits, and says what the disk says.
  Status meet(const std::string& path, Operation operation) const;
  Status meet(std::optional<DiskFiles> which, const std::string& path, Operation operation) const;
  bool is_full(std::optional<DiskFiles> which) const;

  const std::unique_ptr<FileSystem> files_;
  const std::shared_ptr<DiskSwitches> switches_;
  const std::vector<Place> places_;
};

}  // namespace freshet
