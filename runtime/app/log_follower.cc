#include "runtime/app/log_follower.h"

#include <algorithm>

namespace freshet {

Result<std::string> LogFollower::read(uint64_t from, uint64_t to) {
  ASSIGN_OR_RETURN(const auto file, files_.open(path_));
  std::string bytes(to - from, '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    ASSIGN_OR_RETURN(const size_t count,
                     file->read(from + filled, bytes.data() + filled, bytes.size() - filled));
    if (count == 0) break;
    filled += count;
  }
  bytes.resize(filled);
  return bytes;
}

Result<std::string> LogFollower::tail(size_t lines) {
  const auto info = files_.info(path_);
  if (!info.ok()) return info.status();
  const uint64_t begin = info->size_bytes - std::min(info->size_bytes, kBytesAtOnceMax);
  ASSIGN_OR_RETURN(std::string text, read(begin, info->size_bytes));
  const size_t end = text.rfind('\n') + 1;  // npos + 1 is 0.
  text.resize(end);
  offset_ = begin + end;
  size_t first = end;
  for (size_t left = lines; left > 0 && first > 0; --left) {
    const size_t before = first < 2 ? text.npos : text.rfind('\n', first - 2);
    first = before == text.npos ? 0 : before + 1;
  }
  return text.substr(first);
}

Result<std::string> LogFollower::next() {
  const auto info = files_.info(path_);
  if (!info.ok()) {
    if (info.status().code() != StatusCode::kNotFound) return info.status();
    offset_ = 0;
    return std::string();
  }
  if (info->size_bytes < offset_) offset_ = 0;
  ASSIGN_OR_RETURN(std::string text,
                   read(offset_, std::min(info->size_bytes, offset_ + kBytesAtOnceMax)));
  size_t end = text.rfind('\n') + 1;
  if (end == 0 && text.size() == kBytesAtOnceMax) end = text.size();  // No line is as long.
  text.resize(end);
  offset_ += end;
  return text;
}

}  // namespace freshet
