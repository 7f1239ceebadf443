#include "runtime/app/local_state.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr std::string_view kPrefix = "freshet-local-";

/// The process in the name of a directory; 0 for other names.
pid_t process_of(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
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

std::string local_state_directory(const std::string& parent) {
  return fmt::format("{}/{}{}", parent, kPrefix, getpid());
}

void remove_stale_local_state(const std::string& parent, FileSystem& files) {
  const auto entries = files.list(parent);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    const pid_t pid = process_of(entry.path);
    if (pid == 0 || !has_ended(pid) || !is_own_directory(entry.path)) continue;
    const Status removed = files.remove_all(entry.path);
    if (!removed.ok()) LOG_WARN("state_not_removed", {{"cause", removed}});
  }
}

}  // namespace freshet
