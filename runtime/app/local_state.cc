#include "runtime/app/local_state.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "runtime/app/private_directory.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

/// The process in the name of a directory; 0 for other names.
pid_t process_of(std::string_view path, std::string_view kind) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kind) || !name.substr(kind.size()).starts_with('-')) return 0;
  name.remove_prefix(kind.size() + 1);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() && pid > 0 ? pid : 0;
}

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

/// A directory of this process' own id is of an earlier process.
bool has_ended(pid_t pid) { return pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH); }

}  // namespace

std::string local_state_directory(const std::string& parent, std::string_view kind) {
  return fmt::format("{}/{}-{}", parent, kind, getpid());
}

void remove_stale_local_state(const std::string& parent, std::string_view kind, FileSystem& files) {
  const auto entries = files.list(parent);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    const pid_t pid = process_of(entry.path, kind);
    if (pid == 0 || !has_ended(pid) || !is_own_directory(entry.path)) continue;
    const Status removed = files.remove_all(entry.path);
    if (!removed.ok()) LOG_WARN("state_not_removed", {{"cause", removed}});
  }
}

Result<std::unique_ptr<ForegroundState>> ForegroundState::of_user(const std::string& directory,
                                                                  FileSystem& files) {
  const Status made = make_private_directory(directory);
  if (!made.ok() && made.code() != StatusCode::kAlreadyExists) return made;
  RETURN_IF_ERROR(check_private_directory(directory));
  return std::unique_ptr<ForegroundState>(new ForegroundState(directory, false, files));
}

Result<std::unique_ptr<ForegroundState>> ForegroundState::own(const std::string& parent,
                                                              std::string_view kind,
                                                              FileSystem& files) {
  RETURN_IF_ERROR(check_private_directory(parent));
  remove_stale_local_state(parent, kind, files);
  const std::string directory = local_state_directory(parent, kind);
  // Before there is who removes it: one that is there already belongs to somebody else.
  RETURN_IF_ERROR(make_private_directory(directory));
  return std::unique_ptr<ForegroundState>(new ForegroundState(directory, true, files));
}

ForegroundState::~ForegroundState() {
  if (!own_) return;
  const Status removed = files_.remove_all(path_);
  if (!removed.ok()) LOG_WARN("state_not_removed", {{"cause", removed}});
}

}  // namespace freshet
