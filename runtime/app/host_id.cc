#include "runtime/app/host_id.h"

#include "runtime/app/kernel_file.h"
#include "runtime/base/hash.h"

namespace freshet {

namespace {

std::string first_line(FileSystem& files, const std::string& path) {
  const std::string text = read_kernel_file(files, path);
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string boot_id(FileSystem& files) {
  return first_line(files, "/proc/sys/kernel/random/boot_id");
}

std::string host_id(FileSystem& files) {
  return content_hash(first_line(files, "/etc/machine-id") + "\n" + boot_id(files));
}

}  // namespace freshet
