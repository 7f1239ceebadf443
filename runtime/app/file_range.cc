#include "runtime/app/file_range.h"

namespace freshet {

Result<std::string> read_range(ReadableFile& file, uint64_t begin, uint64_t end) {
  std::string bytes(end - begin, '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    ASSIGN_OR_RETURN(const size_t count,
                     file.read(begin + filled, bytes.data() + filled, bytes.size() - filled));
    if (count == 0) break;
    filled += count;
  }
  bytes.resize(filled);
  return bytes;
}

Result<std::string> read_range(FileSystem& files, const std::string& path, uint64_t begin,
                               uint64_t end) {
  ASSIGN_OR_RETURN(const auto file, files.open(path));
  return read_range(*file, begin, end);
}

}  // namespace freshet
