#include "runtime/app/log_follower.h"

#include <algorithm>

#include "runtime/app/file_range.h"

namespace freshet {

Result<std::string> LogFollower::tail(size_t lines) {
  const auto info = files_.info(path_);
  if (!info.ok()) return info.status();
  const uint64_t begin = info->size_bytes - std::min(info->size_bytes, kBytesAtOnceMax);
  ASSIGN_OR_RETURN(file_, files_.open(path_));
  ASSIGN_OR_RETURN(std::string text, read_range(*file_, begin, info->size_bytes));
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

Result<std::string> LogFollower::read_lines() {
  ASSIGN_OR_RETURN(std::string text, read_range(*file_, offset_, offset_ + kBytesAtOnceMax));
  end_ = offset_ + text.size();
  size_t end = text.rfind('\n') + 1;
  if (end == 0 && text.size() == kBytesAtOnceMax) end = text.size();  // No line is as long.
  text.resize(end);
  offset_ += end;
  return text;
}

/// Files have no names of their own, but a log only grows: it was not shorter before, and is not
/// now, than what was read of it in between.
Result<bool> LogFollower::was_replaced(uint64_t size_before) {
  const auto info = files_.info(path_);
  if (!info.ok() && info.status().code() == StatusCode::kNotFound) return true;
  if (!info.ok()) return info.status();
  return end_ < size_before || info->size_bytes < end_;
}

Result<std::string> LogFollower::next() {
  const auto info = files_.info(path_);
  if (!info.ok() && info.status().code() != StatusCode::kNotFound) return info.status();
  if (!file_) {
    if (!info.ok()) return std::string();
    ASSIGN_OR_RETURN(file_, files_.open(path_));
    offset_ = 0;
  }
  ASSIGN_OR_RETURN(std::string text, read_lines());
  if (!text.empty()) return text;
  ASSIGN_OR_RETURN(const bool replaced, was_replaced(info.ok() ? info->size_bytes : 0));
  if (!replaced) return text;
  file_.reset();
  return next();
}

}  // namespace freshet
