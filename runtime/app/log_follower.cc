#include "runtime/app/log_follower.h"

#include <algorithm>

#include "runtime/app/file_range.h"

namespace freshet {

Result<std::string> LogFollower::tail(size_t lines) {
  const auto info = files_.info(path_);
  if (!info.ok()) return info.status();
  const uint64_t begin = info->size_bytes - std::min(info->size_bytes, kBytesAtOnceMax);
  ASSIGN_OR_RETURN(std::string text, read_range(files_, path_, begin, info->size_bytes));
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
  ASSIGN_OR_RETURN(
      std::string text,
      read_range(files_, path_, offset_, std::min(info->size_bytes, offset_ + kBytesAtOnceMax)));
  size_t end = text.rfind('\n') + 1;
  if (end == 0 && text.size() == kBytesAtOnceMax) end = text.size();  // No line is as long.
  text.resize(end);
  offset_ += end;
  return text;
}

}  // namespace freshet
