#include "runtime/base/memory_file_system.h"

#include <algorithm>
#include <cstring>

namespace freshet {

namespace {

std::string normal(const std::string& path) {
  std::string out = path;
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out.empty() ? "/" : out;
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos || slash == 0 ? "/" : path.substr(0, slash);
}

bool is_inside(const std::string& path, const std::string& directory) {
  return path == directory || (path.size() > directory.size() && path.starts_with(directory) &&
                               path[directory.size()] == '/');
}

Status missing(const std::string& path) { return not_found(path + ": no such file or directory"); }

}  // namespace

class MemoryFileSystem::Writer final : public WritableFile {
 public:
  Writer(MemoryFileSystem& files, Content content, std::string path)
      : files_(files), content_(std::move(content)), path_(std::move(path)) {}
  Status append(std::string_view bytes) override { return files_.append(content_, path_, bytes); }
  Status sync() override { return Status(); }
  Status close() override { return Status(); }

 private:
  MemoryFileSystem& files_;
  Content content_;
  std::string path_;
};

class MemoryFileSystem::Reader final : public ReadableFile {
 public:
  Reader(MemoryFileSystem& files, Content content) : files_(files), content_(std::move(content)) {}
  Result<size_t> read(uint64_t offset, char* to, size_t size) override {
    std::lock_guard lock(files_.mutex_);
    if (offset >= content_->size()) return size_t{0};
    const size_t count = std::min(size, content_->size() - static_cast<size_t>(offset));
    std::memcpy(to, content_->data() + offset, count);
    return count;
  }

 private:
  MemoryFileSystem& files_;
  Content content_;
};

void MemoryFileSystem::set_capacity(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::map<std::string, std::string> MemoryFileSystem::files() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> out;
  for (const auto& [path, content] : files_) out[path] = *content;
  return out;
}

void MemoryFileSystem::put(const std::string& path, std::string content) {
  std::lock_guard lock(mutex_);
  add_parents(normal(path));
  used_ += content.size();
  files_[normal(path)] = std::make_shared<std::string>(std::move(content));
}

Status MemoryFileSystem::append(const Content& content, const std::string& path,
                                std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (used_ + bytes.size() > capacity_)
    return resource_exhausted(path + ": no space left on device (" +
                              std::to_string(capacity_ - std::min(capacity_, used_)) +
                              " bytes are free there)");
  used_ += bytes.size();
  content->append(bytes);
  return Status();
}

void MemoryFileSystem::add_parents(const std::string& path) {
  for (std::string at = parent_of(path); at != "/"; at = parent_of(at)) directories_[at] = true;
}

bool MemoryFileSystem::is_directory(const std::string& path) const {
  return directories_.contains(path);
}

Result<std::unique_ptr<ReadableFile>> MemoryFileSystem::open(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto it = files_.find(normal(path));
  if (it == files_.end()) return missing(path);
  return std::unique_ptr<ReadableFile>(std::make_unique<Reader>(*this, it->second));
}

Result<std::unique_ptr<WritableFile>> MemoryFileSystem::create(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(path);
  if (!is_directory(parent_of(at))) return missing(path);
  if (is_directory(at)) return failed_precondition(path + ": is a directory");
  auto content = std::make_shared<std::string>();
  files_[at] = content;
  return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, std::move(content), at));
}

Result<FileInfo> MemoryFileSystem::info(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(path);
  if (is_directory(at)) return FileInfo{at, 0, true, false};
  const auto it = files_.find(at);
  if (it == files_.end()) return missing(path);
  return FileInfo{at, it->second->size(), false, false};
}

Result<std::vector<FileInfo>> MemoryFileSystem::list(const std::string& directory) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(directory);
  if (!is_directory(at)) return missing(directory);
  std::vector<FileInfo> out;
  for (const auto& [path, content] : files_) {
    if (parent_of(path) == at) out.push_back({path, content->size(), false, false});
  }
  for (const auto& [path, present] : directories_) {
    if (path != "/" && parent_of(path) == at) out.push_back({path, 0, true, false});
  }
  std::sort(out.begin(), out.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return out;
}

Status MemoryFileSystem::create_directories(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(path);
  if (files_.contains(at)) return already_exists(path + ": is a file");
  add_parents(at);
  directories_[at] = true;
  return Status();
}

Status MemoryFileSystem::create_new_directory(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(path);
  if (files_.contains(at) || is_directory(at)) return already_exists(path + " exists already");
  add_parents(at);
  directories_[at] = true;
  return Status();
}

Status MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  const std::string source = normal(from);
  const std::string target = normal(to);
  if (!is_directory(parent_of(target))) return missing(to);
  if (is_directory(source)) return rename_directory(source, target);
  const auto it = files_.find(source);
  if (it == files_.end()) return missing(from);
  if (is_directory(target)) return failed_precondition(to + ": is a directory");
  Content content = it->second;
  files_.erase(it);
  files_[target] = std::move(content);
  return Status();
}

Status MemoryFileSystem::rename_directory(const std::string& from, const std::string& to) {
  if (from == to) return Status();
  if (is_inside(to, from)) return invalid_argument(from + ": cannot be moved into itself");
  if (files_.contains(to)) return not_found(to + ": not a directory");
  if (has_entries(to)) return failed_precondition(to + ": directory not empty");
  const auto move_all = [&](auto& entries) {
    std::decay_t<decltype(entries)> moved;
    for (auto it = entries.lower_bound(from); it != entries.end() && it->first.starts_with(from);) {
      const auto here = it++;
      if (is_inside(here->first, from)) moved.insert(entries.extract(here));
    }
    while (!moved.empty()) {
      auto entry = moved.extract(moved.begin());
      entry.key() = to + entry.key().substr(from.size());
      entries.erase(entry.key());
      entries.insert(std::move(entry));
    }
  };
  move_all(files_);
  move_all(directories_);
  return Status();
}

bool MemoryFileSystem::has_entries(const std::string& directory) const {
  const auto below = [&](const auto& entry) {
    return entry.first != "/" && parent_of(entry.first) == directory;
  };
  return std::any_of(files_.begin(), files_.end(), below) ||
         std::any_of(directories_.begin(), directories_.end(), below);
}

Status MemoryFileSystem::remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  const auto it = files_.find(normal(path));
  if (it == files_.end()) return missing(path);
  used_ -= std::min<uint64_t>(used_, it->second->size());
  files_.erase(it);
  return Status();
}

Status MemoryFileSystem::remove_all(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(path);
  std::erase_if(files_, [&](const auto& entry) {
    if (!is_inside(entry.first, at)) return false;
    used_ -= std::min<uint64_t>(used_, entry.second->size());
    return true;
  });
  std::erase_if(directories_, [&](const auto& entry) { return is_inside(entry.first, at); });
  return Status();
}

Status MemoryFileSystem::remove_empty_directory(const std::string& path) {
  std::lock_guard lock(mutex_);
  const std::string at = normal(path);
  if (has_entries(at)) return failed_precondition(path + ": directory not empty");
  directories_.erase(at);
  return Status();
}

uint64_t MemoryFileSystem::free_bytes() const {
  std::lock_guard lock(mutex_);
  return capacity_ - std::min(capacity_, used_);
}

}  // namespace freshet
