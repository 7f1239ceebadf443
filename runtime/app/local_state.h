#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// What directories of `freshet run --local` are called.
inline constexpr std::string_view kLocalClusterState = "freshet-local";

/// Where this process keeps its state when nobody names a place: `PARENT/<kind>-<pid>`.
std::string local_state_directory(const std::string& parent, std::string_view kind);

/// Removes what processes of this kind left that ended without tidying: directories of that name
/// that belong to this user and whose process does not live any more. What cannot be removed stays.
void remove_stale_local_state(const std::string& parent, std::string_view kind, FileSystem&);

/// The state directory of a process in the foreground, which only this user can write to: the one
/// that its user named, or one of its own, which the destructor removes.
class ForegroundState {
 public:
  static Result<std::unique_ptr<ForegroundState>> of_user(const std::string& directory,
                                                          FileSystem&);
  /// `PARENT/<kind>-<pid>`. Removes what earlier processes of this kind left in PARENT.
  static Result<std::unique_ptr<ForegroundState>> own(const std::string& parent,
                                                      std::string_view kind, FileSystem&);
  ~ForegroundState();
  ForegroundState(const ForegroundState&) = delete;
  ForegroundState& operator=(const ForegroundState&) = delete;

  const std::string& path() const { return path_; }

 private:
  ForegroundState(std::string path, bool own, FileSystem& files)
      : path_(std::move(path)), own_(own), files_(files) {}

  const std::string path_;
  const bool own_;
  FileSystem& files_;
};

}  // namespace freshet
