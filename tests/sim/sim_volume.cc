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
  return extent;
}

Status SimVolume::rename(const SimHost& by, const std::string& from, const std::string& to) {
  std::optional<std::string> replaced;
  if (auto content = files_.read_all(to); content.ok()) replaced = std::move(content).value();
  RETURN_IF_ERROR(files_.rename(from, to));
  extents_.erase(to);
  auto moved = extents_.extract(from);
  if (moved.empty()) {
    move_extents_below(from, to);
    return Status();
  }
  renames_.push_back({queue_.now(), &by, from, to, moved.mapped(), std::move(replaced)});
  moved.key() = to;
  extents_.insert(std::move(moved));
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

void SimVolume::take_back_renames(const SimHost& host) {
  std::erase_if(renames_, [&](const Rename& rename) {
    return rename.when + kNamesLateFor < queue_.now() || rename.by != &host;
  });
  for (uint64_t count = queue_.random().below(renames_.size() + 1); count > 0; --count) {
    Rename last = std::move(renames_.back());
    renames_.pop_back();
    const auto extent = extents_.find(last.to);
    const auto content = files_.read_all(last.to);
    if (extent == extents_.end() || extent->second != last.moved || !content.ok()) continue;
    files_.put(last.from, *content);
    extents_[last.from] = last.moved;
    (void)files_.remove(last.to);
    extents_.erase(last.to);
    if (last.replaced) files_.put(last.to, *last.replaced);
    ++torn_;
  }
}

void SimVolume::tear(const SimHost& host) {
  if (names_ == Names::kLate) take_back_renames(host);
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
