#include "shuffle/temp_directories.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

namespace {

// Nobody else has such a file there.
constexpr std::string_view kProbe = "/.freshet-probe";

}  // namespace

TempDirectories::TempDirectories(SpillPlace place) : place_(std::move(place)) {
  directories_.push_back({place_.directory, State::kWorks});
  for (const std::string& other : place_.others) directories_.push_back({other, State::kWorks});
}

SpillPlace TempDirectories::next(std::string_view below) {
  SpillPlace place = place_;
  place.others.clear();
  place.roots.clear();
  MutexLock lock(mutex_);
  // When none works, whoever comes hears from one of them what is the matter.
  State best = State::kFailed;
  for (const Directory& directory : directories_) best = std::min(best, directory.state);
  while (directories_[next_ % directories_.size()].state != best) ++next_;
  const size_t index = next_++ % directories_.size();
  place.directory = directories_[index].path;
  if (!place_.roots.empty()) place.roots = {place_.roots[index]};
  if (!below.empty()) place.directory.append("/").append(below);
  place.on_error = [self = shared_from_this(), index](const Status& status) {
    self->on_error(index, status);
  };
  place.on_removed = [self = shared_from_this()] { self->on_removed(); };
  return place;
}

std::vector<std::string> TempDirectories::all() const {
  std::vector<std::string> all;
  MutexLock lock(mutex_);
  for (const Directory& directory : directories_) all.push_back(directory.path);
  return all;
}

void TempDirectories::on_error(size_t index, const Status& status) {
  const bool full = status.code() == StatusCode::kResourceExhausted;
  leave_out(index, full ? State::kFull : State::kFailed, status);
}

void TempDirectories::leave_out(size_t index, State state, const Status& cause) {
  std::string path;
  size_t left = 0;
  {
    MutexLock lock(mutex_);
    Directory& directory = directories_[index];
    if (directory.state >= state) return;
    directory.state = state;
    path = directory.path;
    left = static_cast<size_t>(std::ranges::count(directories_, State::kWorks, &Directory::state));
  }
  LOG_WARN("temp_directory_left_out",
           {{"path", path},
            {"cause", cause},
            {"left", left},
            {"to_do", state == State::kFull ? "make room there"
                                            : "restart this TaskManager when it works again"}});
}

void TempDirectories::on_read_error(const std::string& path) {
  const std::vector<std::string> directories = all();
  for (size_t i = 0; i < directories.size(); ++i) {
    if (!path.starts_with(directories[i] + "/") || is_left_out(i)) continue;
    const Status status = check(*place_.files, directories[i]);
    if (!status.ok()) on_error(i, status);
  }
}

bool TempDirectories::is_left_out(size_t index) const {
  MutexLock lock(mutex_);
  return directories_[index].state == State::kFailed;
}

void TempDirectories::on_removed() {
  MutexLock lock(mutex_);
  for (Directory& directory : directories_) {
    if (directory.state == State::kFull) directory.state = State::kWorks;
  }
}

Status TempDirectories::check(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(directory));
  if (!info.is_directory) return invalid_argument(directory + " is not a directory");
  const std::string path = directory + std::string(kProbe);
  ASSIGN_OR_RETURN(auto file, files.create(path));
  Status status = file->append("probe");
  if (status.ok()) status = file->close();
  file = nullptr;
  const Status removed = files.remove(path);
  return status.ok() ? removed : status;
}

}  // namespace freshet
