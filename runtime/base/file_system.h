#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace freshet {

/// A file being written. Closed by its destructor, without sync.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status append(std::string_view bytes) = 0;
  /// Returns when the bytes survive a crash of the host.
  virtual Status sync() = 0;
  virtual Status close() = 0;
};

/// A file opened for reading; reads at any offset.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  /// Reads up to `size` bytes at `offset`; fewer only at the end of the file, none beyond it.
  virtual Result<size_t> read(uint64_t offset, char* to, size_t size) = 0;
  /// These bytes will be read soon: a hint, which does not wait for the disk.
  virtual void expect(uint64_t /*offset*/, uint64_t /*size*/) {}
};

struct FileInfo {
  std::string path;
  uint64_t size_bytes = 0;
  bool is_directory = false;
  bool is_link = false;     // A symbolic link; the other fields describe what it points to.
  bool is_special = false;  // A pipe, socket or device: opening it may block.
};

/// The only way to files. Every error names the path. Thread-safe; may block.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  /// A new or emptied file.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;
  virtual Result<FileInfo> info(const std::string& path) = 0;
  /// The entries of a directory, without `.` and `..`, sorted by name, with full paths.
  virtual Result<std::vector<FileInfo>> list(const std::string& directory) = 0;
  /// With all parents; ok when it is there.
  virtual Status create_directories(const std::string& path) = 0;
  /// A directory that must not be there yet; its parents are made. The atomic claim of a name.
  virtual Status create_new_directory(const std::string& path) = 0;
  /// Atomic. A file replaces a file at `to`, a directory an empty one; kFailedPrecondition when
  /// there is something in it.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// The same, but it need not survive a crash of the host.
  virtual Status rename_unsynced(const std::string& from, const std::string& to) {
    return rename(from, to);
  }
  /// Removes a file; kNotFound when there is none.
  virtual Status remove(const std::string& path) = 0;
  /// Removes a directory with all that is in it; ok when there is none.
  virtual Status remove_all(const std::string& path) = 0;
  /// Atomic: never removes what somebody just made in it. Ok when there is none;
  /// kFailedPrecondition when it is not empty.
  virtual Status remove_empty_directory(const std::string& path) = 0;

  /// All of a file. Bounded: kResourceExhausted above `limit_bytes`.
  Result<std::string> read_all(const std::string& path, uint64_t limit_bytes = 1ull << 30);
  /// Writes a temporary file beside `path`, syncs and renames: readers see all of it or nothing.
  Status write_atomically(const std::string& path, std::string_view bytes);
};

std::unique_ptr<FileSystem> make_local_file_system();

}  // namespace freshet
