#include "tests/integration/dying_disks.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/integration/small_disk.h"

namespace freshet::testing {

namespace {

/// Somebody removes it with all that is in it.
class RemovedDirectory final : public DyingDisk {
 public:
  std::string path() const override { return around_ / "disk"; }
  void die() override {
    // Files come while it is emptied.
    std::error_code error;
    do {
      std::filesystem::remove_all(path(), error);
    } while (error);
  }

 private:
  const TemporaryDirectory around_;
};

/// Something else is where it was.
class ReplacedDirectory final : public DyingDisk {
 public:
  std::string path() const override { return around_ / "disk"; }
  void die() override {
    std::filesystem::rename(path(), around_ / "elsewhere");
    write_file(path(), "no directory");
  }

 private:
  const TemporaryDirectory around_;
};

class ForbiddenDirectory final : public DyingDisk {
 public:
  ~ForbiddenDirectory() override { ::chmod(path().c_str(), 0700); }
  std::string path() const override { return around_ / "disk"; }
  void die() override { ::chmod(path().c_str(), 0); }

 private:
  const TemporaryDirectory around_;
};

class MountedDisk : public DyingDisk {
 public:
  std::string why_not() const override { return disk_.why(); }
  std::string path() const override { return disk_.path(); }

 protected:
  const SmallDisk disk_;
};

class FullDisk final : public MountedDisk {
 public:
  void die() override { disk_.fill(); }
};

class ReadOnlyDisk final : public MountedDisk {
 public:
  void die() override {
    // It is refused while a file is written.
    while (::mount(nullptr, disk_.path(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
      pause(1ms);
  }
};

class UnmountedDisk final : public MountedDisk {
 public:
  void die() override { ::umount2(disk_.path(), MNT_DETACH); }
};

/// From one moment on everything is an input/output error, of open files, too.
class BrokenDisk final : public DyingDisk {
 public:
  BrokenDisk() {
    const std::string image = around_ / "image";
    std::filesystem::create_directory(path());
    write_file(image, "");
    std::filesystem::resize_file(image, kBytes);
    const Outcome made =
        run_program("/bin/sh", {"-c", "PATH=$PATH:/usr/sbin:/sbin; mkfs.ext4 -q -F " + image +
                                          " && mount -o loop " + image + " " + path()});
    if (made.exit_code == 0) return;
    why_not_ = "cannot mount a file: " + made.errors;
  }
  ~BrokenDisk() override {
    if (why_not_.empty()) ::umount2(path().c_str(), MNT_DETACH);
  }
  std::string why_not() const override { return why_not_; }
  std::string path() const override { return around_ / "disk"; }
  void die() override {
    const int directory = ::open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint32_t without_flush = 2;
    ::ioctl(directory, _IOR('X', 125, uint32_t), &without_flush);  // EXT4_IOC_SHUTDOWN
    ::close(directory);
  }

 private:
  static constexpr uintmax_t kBytes = 32u << 20;
  const TemporaryDirectory around_;
  std::string why_not_;
};

template <class Disk>
std::unique_ptr<DyingDisk> make() {
  auto disk = std::make_unique<Disk>();
  if (!std::filesystem::exists(disk->path())) std::filesystem::create_directory(disk->path());
  return disk;
}

}  // namespace

const std::vector<DiskKind>& disk_kinds() {
  static const std::vector<DiskKind> kinds{
      {"Removed", make<RemovedDirectory>, "No such file or directory"},
      {"Replaced", make<ReplacedDirectory>, " directory"},
      {"Forbidden", make<ForbiddenDirectory>, "Permission denied"},
      {"Full", make<FullDisk>, "No space left on device"},
      {"ReadOnly", make<ReadOnlyDisk>, "Read-only file system"},
      {"Unmounted", make<UnmountedDisk>, "No such file or directory"},
      {"Broken", make<BrokenDisk>, "Input/output error"},
  };
  return kinds;
}

void run_without_override(const std::function<void()>& start) {
  // Belongs to a thread, and to what it starts. Whoever may not do it has nothing to give up.
  std::thread([&start] {
    for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER})
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    start();
  }).join();
}

}  // namespace freshet::testing
