#include "tests/integration/small_disk.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace freshet::testing {

SmallDisk::SmallDisk() {
  if (::mount("tmpfs", path(), "tmpfs", 0, "size=8m,mode=0700") != 0) why_ = std::strerror(errno);
}

SmallDisk::~SmallDisk() {
  if (mounted()) ::umount2(path(), MNT_DETACH);
}

void SmallDisk::fill() const {
  std::ofstream file(directory_ / "filler", std::ios::binary);
  const std::string page(4096, 'x');
  while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
  }
}

void SmallDisk::free() const { ASSERT_EQ(std::remove((directory_ / "filler").c_str()), 0); }

}  // namespace freshet::testing
