#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/file_system.h"

namespace freshet {

namespace {

/// What a full disk still has where `path` is or was to be; empty when nobody knows.
std::string free_space_at(const std::string& path) {
  struct statvfs about {};
  for (std::filesystem::path at = path;; at = at.parent_path()) {
    if (::statvfs(at.empty() ? "." : at.c_str(), &about) == 0) break;
    if (at.empty() || !at.has_relative_path()) return "";
  }
  const uint64_t bytes = static_cast<uint64_t>(about.f_bavail) * about.f_frsize;
  const bool no_more_files = about.f_files != 0 && about.f_favail == 0;
  return " (" + std::to_string(bytes) + " bytes are free there" +
         (no_more_files ? ", and no file can be added" : "") + ")";
}

Status from_errno(const std::string& path, int error) {
  std::string message = path + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT) message += free_space_at(path);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return not_found(message);
    case EEXIST:
      return already_exists(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return resource_exhausted(message);
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case EISDIR:
    case EXDEV:
    case ENXIO:
    case ENODEV:
      return failed_precondition(message);
    case ENAMETOOLONG:
    case EINVAL:
    case EILSEQ:
      return invalid_argument(message);
    default:
      return unavailable(message);
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class LocalReadable final : public ReadableFile {
 public:
  LocalReadable(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<size_t> read(uint64_t offset, char* to, size_t size) override {
    size_t done = 0;
    while (done < size) {
      const ssize_t n =
          ::pread(fd_.get(), to + done, size - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return from_errno(path_, errno);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }
  void expect(uint64_t offset, uint64_t size) override {
    (void)::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                          POSIX_FADV_WILLNEED);
  }

 private:
  std::string path_;
  Descriptor fd_;
};

class LocalWritable final : public WritableFile {
 public:
  LocalWritable(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return from_errno(path_, errno);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return Status();
  }
  Status sync() override {
    if (::fdatasync(fd_.get()) != 0) return from_errno(path_, errno);
    return Status();
  }
  Status close() override {
    const int fd = fd_.release();
    if (fd >= 0 && ::close(fd) != 0) return from_errno(path_, errno);
    return Status();
  }

 private:
  std::string path_;
  Descriptor fd_;
};

/// Makes a name survive a crash of the host and, where there is a journal, whatever was named
/// before. A directory that cannot be opened, or not be synced as such, is left to its file system.
Status sync_directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string directory = parent.empty() ? "." : parent;
  const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) == 0 || errno == EINVAL || errno == ENOTSUP)
    return Status();
  return from_errno(directory, errno);
}

class LocalFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return from_errno(path, errno);
    return std::unique_ptr<ReadableFile>(std::make_unique<LocalReadable>(path, fd));
  }

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return from_errno(path, errno);
    return std::unique_ptr<WritableFile>(std::make_unique<LocalWritable>(path, fd));
  }

  Result<FileInfo> info(const std::string& path) override {
    struct stat link {
    }, file{};
    if (::lstat(path.c_str(), &link) != 0) return from_errno(path, errno);
    if (::stat(path.c_str(), &file) != 0) return from_errno(path, errno);
    return FileInfo{path, static_cast<uint64_t>(file.st_size), S_ISDIR(file.st_mode),
                    S_ISLNK(link.st_mode), !S_ISDIR(file.st_mode) && !S_ISREG(file.st_mode)};
  }

  Result<std::vector<FileInfo>> list(const std::string& directory) override {
    DIR* stream = ::opendir(directory.c_str());
    if (stream == nullptr) return from_errno(directory, errno);
    std::vector<FileInfo> out;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      auto found = info(directory + (directory.ends_with('/') ? "" : "/") + name);
      if (found.ok())
        out.push_back(std::move(*found));  // A dangling link or a file just removed is no entry.
    }
    ::closedir(stream);
    std::sort(out.begin(), out.end(),
              [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
    return out;
  }

  Status create_directories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    return error ? from_errno(path, error.value()) : Status();
  }

  Status create_new_directory(const std::string& path) override {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty()) RETURN_IF_ERROR(create_directories(parent.string()));
    if (::mkdir(path.c_str(), 0755) != 0) return from_errno(path, errno);
    return Status();
  }

  Status rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(rename_unsynced(from, to));
    return sync_directory_of(to);
  }

  Status rename_unsynced(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return Status();
    if (errno == ENOTEMPTY || errno == EEXIST)
      return failed_precondition(to + ": directory not empty");
    return from_errno(from, errno);
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return from_errno(path, errno);
    return Status();
  }

  Status remove_all(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    return error ? from_errno(path, error.value()) : Status();
  }

  Status remove_empty_directory(const std::string& path) override {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return Status();
    if (errno == ENOTEMPTY || errno == EEXIST)
      return failed_precondition(path + ": directory not empty");
    return from_errno(path, errno);
  }
};

}  // namespace

std::unique_ptr<FileSystem> make_local_file_system() { return std::make_unique<LocalFileSystem>(); }

Result<std::string> FileSystem::read_all(const std::string& path, uint64_t limit_bytes) {
  ASSIGN_OR_RETURN(const FileInfo file, info(path));
  if (file.is_directory) return failed_precondition(path + ": is a directory");
  // Who opens a pipe waits for its other end, perhaps for ever.
  if (file.is_special) return failed_precondition(path + ": is no regular file");
  if (file.size_bytes > limit_bytes) {
    return resource_exhausted(path + ": " + std::to_string(file.size_bytes) +
                              " bytes are more than the allowed " + std::to_string(limit_bytes));
  }
  ASSIGN_OR_RETURN(auto readable, open(path));
  std::string bytes(file.size_bytes, '\0');
  ASSIGN_OR_RETURN(const size_t size, readable->read(0, bytes.data(), bytes.size()));
  bytes.resize(size);
  return bytes;
}

namespace {

Status write_and_sync(FileSystem& files, const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(auto file, files.create(path));
  RETURN_IF_ERROR(file->append(bytes));
  RETURN_IF_ERROR(file->sync());
  return file->close();
}

}  // namespace

Status FileSystem::write_atomically(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".part";
  Status status = write_and_sync(*this, temporary, bytes);
  if (status.ok()) status = rename(temporary, path);
  if (!status.ok()) (void)remove(temporary);
  return status;
}

}  // namespace freshet
