#include "runtime/app/private_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace freshet {

namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

/// What a path leads to; nullopt when there is nothing.
Result<std::optional<struct stat>> look_at(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) return failed_precondition(path + " is no directory");
    return std::optional(info);
  }
  if (errno == ENOENT) return std::optional<struct stat>();
  return unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
}

Status belongs_to_another(const std::string& path, uid_t owner) {
  return failed_precondition(
      fmt::format("{} belongs to another user (id {}), who could put code there that this process "
                  "runs: name another directory with --state-dir",
                  path, owner));
}

Status writable_by_others(const std::string& path) {
  return failed_precondition(
      fmt::format("other users can write to {}, and could put code there that this process runs: "
                  "'chmod go-w {}', or name another directory with --state-dir",
                  path, path));
}

Status check_trusted(const std::string& path, const struct stat& info) {
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return failed_precondition(
        fmt::format("{} belongs to another user (id {})", path, info.st_uid));
  }
  if (!S_ISLNK(info.st_mode) && (info.st_mode & S_IWOTH) != 0)
    return failed_precondition(fmt::format("other users can write to {}", path));
  return Status();
}

}  // namespace

Status make_private_directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash != 0) {
    const Status parent = make_private_directory(path.substr(0, slash));
    if (!parent.ok() && parent.code() != StatusCode::kAlreadyExists) return parent;
  }
  if (mkdir(path.c_str(), kOwnerOnly) == 0) return Status();
  if (errno == EEXIST) return already_exists(path + " exists already");
  return unavailable(fmt::format("cannot make the directory {}: {}", path, std::strerror(errno)));
}

Status check_private_directory(const std::string& path) {
  ASSIGN_OR_RETURN(const auto info, look_at(path));
  if (!info) return Status();
  if (info->st_uid != geteuid()) return belongs_to_another(path, info->st_uid);
  if ((info->st_mode & kWritableByOthers) != 0) return writable_by_others(path);
  return Status();
}

Status check_parent_directory(const std::string& path) {
  ASSIGN_OR_RETURN(const auto info, look_at(path));
  if (!info) return Status();
  if (info->st_uid != geteuid() && info->st_uid != 0) return belongs_to_another(path, info->st_uid);
  const bool sticky = (info->st_mode & S_ISVTX) != 0;
  if ((info->st_mode & kWritableByOthers) != 0 && !sticky) return writable_by_others(path);
  return Status();
}

Status check_trusted_file(const std::string& path) {
  for (const auto look : {lstat, stat}) {
    struct stat info {};
    if (look(path.c_str(), &info) != 0) {
      const std::string why = fmt::format("{}: {}", path, std::strerror(errno));
      return errno == ENOENT ? not_found(why) : unavailable(why);
    }
    RETURN_IF_ERROR(check_trusted(path, info));
  }
  return Status();
}

}  // namespace freshet
