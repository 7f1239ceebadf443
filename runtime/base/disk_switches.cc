#include "runtime/base/disk_switches.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

namespace freshet {

namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::is_standard_layout_v<DiskSwitches>);

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

Status from_errno(const std::string& path) {
  const std::string message = path + ": " + std::strerror(errno);
  if (errno == ENOENT) return not_found(message);
  return errno == EEXIST ? already_exists(message) : unavailable(message);
}

}  // namespace

std::string_view to_string(DiskFiles which) {
  constexpr std::string_view kNames[] = {"temporary files", "modules", "output"};
  return kNames[static_cast<size_t>(which)];
}

Status create_disk_switches(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) return from_errno(path);
  const DiskSwitches off{};
  if (::write(fd.get(), &off, sizeof off) != static_cast<ssize_t>(sizeof off))
    return from_errno(path);
  return Status();
}

Result<std::shared_ptr<DiskSwitches>> map_disk_switches(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd.get() < 0) return from_errno(path);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return from_errno(path);
  if (about.st_size != static_cast<off_t>(sizeof(DiskSwitches)))
    return data_loss(path + ": is no file of switches for a disk");
  void* const memory =
      ::mmap(nullptr, sizeof(DiskSwitches), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return from_errno(path);
  std::shared_ptr<DiskSwitches> switches(
      static_cast<DiskSwitches*>(memory),
      [](DiskSwitches* mapped) { (void)::munmap(mapped, sizeof(DiskSwitches)); });
  if (switches->magic != DiskSwitches::kMagic || switches->version != DiskSwitches::kVersion)
    return data_loss(path + ": is no file of switches for a disk, or one of another version");
  return switches;
}

}  // namespace freshet
