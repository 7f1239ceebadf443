#include "tests/sim/sim_volume.h"

#include <algorithm>
#include <utility>

namespace freshet::sim {

namespace {

constexpr Duration kNamesLateFor = 5s;

}  // namespace

void SimVolume::fill(Duration duration) {
  full_until_ = std::max(full_until_, queue_.now() + duration);
}

void SimVolume::refuse(FileOperation operation, const std::string& path_part, uint64_t times) {
  std::erase_if(refusals_to_come_, [&](const Refusal& refusal) {
    return refusal.operation == operation && refusal.path_part == path_part;
  });
  if (times > 0) refusals_to_come_.push_back({operation, path_part, times});
}

Status SimVolume::admit(FileOperation operation, const std::string& path) {
  if (is_full()) {
    ++refusals_;
    return resource_exhausted(path + ": No space left on device");
  }
  for (Refusal& refusal : refusals_to_come_) {
    if (refusal.operation != operation || refusal.times == 0) continue;
    if (path.find(refusal.path_part) == path.npos) continue;
    --refusal.times;
    ++refusals_;
    return unavailable(path + ": Input/output error");
  }
  return Status();
}

std::shared_ptr<SimVolume::Extent> SimVolume::created(const SimHost& by, const std::string& path) {
  auto extent = std::make_shared<Extent>();
  extent->writer = &by;
  extents_[path] = extent;
  names_changed();
  return extent;
}

Status SimVolume::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(files_.rename(from, to));
  extents_.erase(to);
  auto moved = extents_.extract(from);
  if (moved.empty()) {
    move_extents_below(from, to);
  } else {
    moved.key() = to;
    extents_.insert(std::move(moved));
  }
  history_.clear();  // Syncing a directory writes the whole journal.
  names_changed();
  return Status();
}

void SimVolume::move_extents_below(const std::string& from, const std::string& to) {
  const std::string prefix = from + "/";
  std::map<std::string, std::shared_ptr<Extent>> moved;
  for (const auto& [path, extent] : extents_) {
    const bool inside = path.starts_with(prefix);
    moved[inside ? to + "/" + path.substr(prefix.size()) : path] = extent;
  }
  extents_.swap(moved);
}

void SimVolume::add_directories(const std::string& below, std::vector<std::string>& to) {
  const auto entries = files_.list(below);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    if (!entry.is_directory) continue;
    to.push_back(entry.path);
    add_directories(entry.path, to);
  }
}

void SimVolume::names_changed() {
  if (names_ == Names::kDurable) return;
  if (!history_.empty()) history_.back().until = queue_.now();
  while (!history_.empty() && history_.front().until + kNamesLateFor < queue_.now())
    history_.pop_front();
  Directory& now = history_.emplace_back();
  now.contents = files_.files();
  now.extents = extents_;
  add_directories("/", now.directories);
}

void SimVolume::take_back_names() {
  names_changed();
  const Directory then = history_[queue_.random().below(history_.size())];
  history_.clear();
  std::map<const Extent*, std::string> contents;  // What is there now may be longer than it was.
  for (const auto& [path, extent] : extents_) {
    const auto content = files_.read_all(path);
    if (content.ok()) contents[extent.get()] = *content;
  }
  if (then.contents != files_.files()) ++torn_;
  std::vector<std::string> directories;
  add_directories("/", directories);
  for (const auto& [path, content] : files_.files()) (void)files_.remove(path);
  for (auto it = directories.rbegin(); it != directories.rend(); ++it)
    (void)files_.remove_empty_directory(*it);
  for (const std::string& path : then.directories) (void)files_.create_directories(path);
  for (const auto& [path, content] : then.contents) {
    const auto extent = then.extents.find(path);
    const auto later =
        extent == then.extents.end() ? contents.end() : contents.find(extent->second.get());
    files_.put(path, later == contents.end() ? content : later->second);
  }
  extents_ = then.extents;
}

void SimVolume::tear(const SimHost& host) {
  if (names_ == Names::kLate) take_back_names();
  for (auto& [path, extent] : extents_) {
    if (extent->writer != &host || extent->written_bytes == extent->synced_bytes) continue;
    const auto content = files_.read_all(path);
    if (!content.ok()) continue;  // It was removed.
    const uint64_t unsynced = content->size() - std::min(extent->synced_bytes, content->size());
    const uint64_t kept = content->size() - queue_.random().below(unsynced + 1);
    files_.put(path, content->substr(0, kept));
    extent->written_bytes = extent->synced_bytes = kept;
    ++torn_;
  }
}

}  // namespace freshet::sim
