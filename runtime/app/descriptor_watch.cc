#include "runtime/app/descriptor_watch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace freshet {

namespace {

constexpr int kOccupiedMax = 4096;  // Numbers are given from below.
constexpr int kLeft = 64;           // For what the end of a process opens.

/// A pipe has an inode that nothing else has; 0 when nothing is open there.
uint64_t inode_of(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 && S_ISFIFO(about.st_mode) ? about.st_ino : 0;
}

}  // namespace

DescriptorWatch::DescriptorWatch() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  ::close(ends[1]);
  descriptor_ = ends[0];
  inode_ = inode_of(descriptor_);
}

DescriptorWatch::~DescriptorWatch() {
  if (descriptor_ >= 0 && intact()) ::close(descriptor_);
}

bool DescriptorWatch::intact() const { return descriptor_ < 0 || inode_of(descriptor_) == inode_; }

void DescriptorWatch::occupy_free_numbers() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t last = std::min<rlim_t>(limit.rlim_cur, kOccupiedMax + kLeft);
  if (last <= kLeft) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  for (int number = 0; number >= 0 && static_cast<rlim_t>(number) < last - kLeft;)
    number = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
}

}  // namespace freshet
