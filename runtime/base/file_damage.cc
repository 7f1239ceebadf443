#include "runtime/base/file_damage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace freshet {

namespace {

Status error_of(const std::string& path) {
  const std::string message = path + ": " + std::strerror(errno);
  return errno == ENOENT ? not_found(message) : unavailable(message);
}

Status flip_in(int fd, const std::string& path, uint64_t offset, uint32_t bit) {
  const auto at = static_cast<off_t>(offset);
  unsigned char byte = 0;
  const ssize_t got = ::pread(fd, &byte, 1, at);
  if (got < 0) return error_of(path);
  if (got == 0) return invalid_argument(path + ": has no byte " + std::to_string(offset));
  byte ^= static_cast<unsigned char>(1u << (bit % 8));
  if (::pwrite(fd, &byte, 1, at) != 1) return error_of(path);
  return Status();
}

}  // namespace

Status flip_bit(const std::string& path, uint64_t offset, uint32_t bit) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return error_of(path);
  const Status status = flip_in(fd, path, offset, bit);
  ::close(fd);
  return status;
}

Status cut_file(const std::string& path, uint64_t size_bytes) {
  return ::truncate(path.c_str(), static_cast<off_t>(size_bytes)) == 0 ? Status() : error_of(path);
}

}  // namespace freshet
