#include "runtime/connectors/path_pattern.h"

#include <fmt/format.h>

#include <set>

namespace freshet {

namespace {

constexpr std::string_view kHint =
    "give files, directories or patterns that every TaskManager can see under this path";

bool is_hidden(std::string_view name) { return name.starts_with('.') || name.starts_with('_'); }

bool has_wildcard(std::string_view component) {
  return component.find_first_of("*?[\\") != component.npos;
}

std::string_view name_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

/// Matches `[...]` at the start of `pattern` against `c`; the pattern's length, or 0 when no `]`
/// closes it.
size_t match_set(std::string_view pattern, char c, bool* matches) {
  size_t at = 1;
  const bool inverted = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (inverted) at++;
  bool found = false;
  for (size_t first = at; at < pattern.size(); at++) {
    if (pattern[at] == ']' && at != first) {
      *matches = found != inverted;
      return at + 1;
    }
    const auto low = static_cast<unsigned char>(pattern[at]);
    auto high = low;
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      at += 2;
      high = static_cast<unsigned char>(pattern[at]);
    }
    const auto given = static_cast<unsigned char>(c);
    found = found || (low <= given && given <= high);
  }
  return 0;
}

/// One step of the pattern that is no `*`: its length when it matches `c`, else 0.
size_t match_one(std::string_view pattern, char c) {
  if (pattern.front() == '?') return 1;
  if (pattern.front() == '[') {
    bool matches = false;
    const size_t length = match_set(pattern, c, &matches);
    if (length != 0) return matches ? length : 0;
  }
  if (pattern.front() == '\\' && pattern.size() > 1) return pattern[1] == c ? 2 : 0;
  return pattern.front() == c ? 1 : 0;
}

std::vector<std::string> components_of(const std::string& pattern) {
  std::vector<std::string> components;
  size_t at = 0;
  while (at < pattern.size()) {
    const size_t slash = std::min(pattern.find('/', at), pattern.size());
    if (slash > at) components.push_back(pattern.substr(at, slash - at));
    at = slash + 1;
  }
  return components;
}

std::string join(const std::string& directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

/// Walks directories for the components of one pattern.
class Expansion {
 public:
  Expansion(std::vector<std::string> components, FileSystem& files)
      : components_(std::move(components)), files_(files) {}

  /// `directory` is empty for the working directory.
  Status walk(const std::string& directory, size_t index) {
    const std::string& component = components_[index];
    const bool last = index + 1 == components_.size();
    if (component == "**") return walk_below(directory, index);
    if (!has_wildcard(component) || files_.info(join(directory, component)).ok()) {
      return take_literal(join(directory, component), index);
    }
    ASSIGN_OR_RETURN(const auto entries, list(directory));
    for (const FileInfo& entry : entries) {
      const std::string_view name = name_of(entry.path);
      if (is_hidden(name) && component.front() != name.front()) continue;
      if (!matches_name(component, name)) continue;
      if (!last && entry.is_directory) RETURN_IF_ERROR(walk(join(directory, name), index + 1));
      if (last && !entry.is_directory) found_.push_back(with_path(entry, join(directory, name)));
    }
    return Status();
  }

  std::vector<FileInfo> take() { return std::move(found_); }

 private:
  Result<std::vector<FileInfo>> list(const std::string& directory) {
    return files_.list(directory.empty() ? "." : directory);
  }

  static FileInfo with_path(FileInfo info, std::string path) {
    info.path = std::move(path);
    return info;
  }

  Status take_literal(const std::string& path, size_t index) {
    auto info = files_.info(path);
    if (info.status().code() == StatusCode::kNotFound) return Status();
    RETURN_IF_ERROR(info.status());
    if (index + 1 < components_.size()) {
      return info->is_directory ? walk(path, index + 1) : Status();
    }
    if (!info->is_directory) found_.push_back(with_path(*info, path));
    return Status();
  }

  Status walk_below(const std::string& directory, size_t index) {
    const bool last = index + 1 == components_.size();
    if (!last) RETURN_IF_ERROR(walk(directory, index + 1));
    ASSIGN_OR_RETURN(const auto entries, list(directory));
    for (const FileInfo& entry : entries) {
      const std::string_view name = name_of(entry.path);
      if (is_hidden(name)) continue;
      if (entry.is_directory) {
        if (!entry.is_link) RETURN_IF_ERROR(walk_below(join(directory, name), index));
      } else if (last) {
        found_.push_back(with_path(entry, join(directory, name)));
      }
    }
    return Status();
  }

  std::vector<std::string> components_;
  FileSystem& files_;
  std::vector<FileInfo> found_;
};

Result<std::vector<FileInfo>> files_in(const std::string& directory, FileSystem& files) {
  const auto entries = files.list(directory);
  if (!entries.ok()) return unreadable_input(directory, entries.status());
  std::vector<FileInfo> found;
  for (const FileInfo& entry : *entries) {
    if (entry.is_directory || entry.is_special || is_hidden(name_of(entry.path))) continue;
    found.push_back(entry);
  }
  if (found.empty()) {
    return not_found(fmt::format("input '{}' is a directory without files; {}", directory, kHint));
  }
  return found;
}

Result<std::vector<FileInfo>> expand(const std::string& pattern, FileSystem& files) {
  auto info = files.info(pattern);
  if (info.ok()) {
    if (info->is_directory) return files_in(pattern, files);
    return std::vector<FileInfo>{*info};
  }
  if (info.status().code() != StatusCode::kNotFound)
    return unreadable_input(pattern, info.status());
  if (!has_wildcard(pattern)) {
    return not_found(fmt::format("input '{}' does not exist; {}", pattern, kHint));
  }
  Expansion expansion(components_of(pattern), files);
  const Status walked = expansion.walk(pattern.starts_with('/') ? "/" : "", 0);
  if (!walked.ok()) return unreadable_input(pattern, walked);
  auto found = expansion.take();
  if (found.empty()) {
    return not_found(fmt::format("input pattern '{}' matches no file; {}", pattern, kHint));
  }
  return found;
}

}  // namespace

bool matches_name(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  size_t star = pattern.npos, star_name = 0;  // Where to go on when a shorter `*` did not fit.
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    const size_t length = p < pattern.size() ? match_one(pattern.substr(p), name[n]) : 0;
    if (length != 0) {
      p += length;
      n++;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

Result<std::vector<FileInfo>> expand_patterns(const std::vector<std::string>& patterns,
                                              FileSystem& files) {
  if (patterns.empty()) return invalid_argument(fmt::format("no input was given; {}", kHint));
  std::vector<FileInfo> all;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(auto found, expand(pattern, files));
    for (FileInfo& file : found) {
      if (file.is_special) {
        return invalid_argument(
            fmt::format("input '{}' is a pipe or a device; only regular files can be read in parts",
                        file.path));
      }
      if (seen.insert(file.path).second) all.push_back(std::move(file));
    }
  }
  return all;
}

Status unreadable_input(const std::string& path, const Status& why) {
  return Status(why.code(), fmt::format("input '{}' cannot be read: {}; make it readable for the "
                                        "TaskManagers or leave it out",
                                        path, why.message()));
}

}  // namespace freshet
