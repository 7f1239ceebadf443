#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/memory_file_system.h"

namespace freshet::testing {

/// Files in memory whose writes and reads a test may change.
class HookedFiles final : public FileSystem {
 public:
  std::function<Status(const std::string& path, std::string_view bytes)> on_append;
  std::function<Status(const std::string& path)> on_open;
  std::function<Status(uint64_t offset, size_t size)> on_read;
  std::function<void(uint64_t offset, uint64_t size)> on_expect;
  std::function<void(uint64_t offset, char* bytes, size_t size)> change_read;

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (on_open) RETURN_IF_ERROR(on_open(path));
    ASSIGN_OR_RETURN(auto file, memory.open(path));
    return std::unique_ptr<ReadableFile>(std::make_unique<Reader>(*this, std::move(file)));
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, memory.create(path));
    return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, path, std::move(file)));
  }
  Result<FileInfo> info(const std::string& path) override { return memory.info(path); }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return memory.list(path); }
  Status create_directories(const std::string& path) override {
    return memory.create_directories(path);
  }
  Status create_new_directory(const std::string& path) override {
    return memory.create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return memory.rename(from, to);
  }
  Status remove(const std::string& path) override { return memory.remove(path); }
  Status remove_all(const std::string& path) override { return memory.remove_all(path); }
  Status remove_empty_directory(const std::string& path) override {
    return memory.remove_empty_directory(path);
  }

  MemoryFileSystem memory;
  int open_files = 0;  // To be read.

 private:
  class Reader final : public ReadableFile {
   public:
    Reader(HookedFiles& files, std::unique_ptr<ReadableFile> file)
        : files_(files), file_(std::move(file)) {
      ++files_.open_files;
    }
    ~Reader() override { --files_.open_files; }
    Result<size_t> read(uint64_t offset, char* to, size_t size) override {
      if (files_.on_read) RETURN_IF_ERROR(files_.on_read(offset, size));
      Result<size_t> got = file_->read(offset, to, size);
      if (got.ok() && files_.change_read) files_.change_read(offset, to, *got);
      return got;
    }
    void expect(uint64_t offset, uint64_t size) override {
      if (files_.on_expect) files_.on_expect(offset, size);
    }

   private:
    HookedFiles& files_;
    std::unique_ptr<ReadableFile> file_;
  };
  class Writer final : public WritableFile {
   public:
    Writer(HookedFiles& files, std::string path, std::unique_ptr<WritableFile> file)
        : files_(files), path_(std::move(path)), file_(std::move(file)) {}
    Status append(std::string_view bytes) override {
      if (files_.on_append) RETURN_IF_ERROR(files_.on_append(path_, bytes));
      return file_->append(bytes);
    }
    Status sync() override { return file_->sync(); }
    Status close() override { return file_->close(); }

   private:
    HookedFiles& files_;
    const std::string path_;
    std::unique_ptr<WritableFile> file_;
  };
};

}  // namespace freshet::testing
