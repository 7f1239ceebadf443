#include "runtime/app/kernel_file.h"

namespace freshet {

namespace {
constexpr size_t kBytesMax = 4096;
}

std::string read_kernel_file(FileSystem& files, const std::string& path) {
  auto file = files.open(path);
  if (!file.ok()) return std::string();
  std::string bytes(kBytesMax, '\0');
  const auto size = (*file)->read(0, bytes.data(), bytes.size());
  bytes.resize(size.ok() ? *size : 0);
  return bytes;
}

}  // namespace freshet
