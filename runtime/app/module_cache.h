#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// Modules that were built from a source, for as long as all that they were built from is as it
/// was. Several processes may use one.
///
/// Modules are named after their content, so one that is loaded is never changed. A manifest, named
/// after the key, says which module it was and what each file that was read had in it:
///
///   manifest := "freshet-module 1" module file*
///   module   := "module" name
///   file     := "file" content_hash path
class ModuleCache {
 public:
  static constexpr size_t kModulesMax = 64;  // The ones that were not used for longest go.

  /// In the state directory, where nobody but this user can write: modules are loaded as code.
  static Result<ModuleCache> of(const std::string& state_directory, FileSystem&);

  /// The file of the module; nullopt when there is none, or something has changed.
  std::optional<std::string> find(const std::string& key) const;

  /// An empty directory for one build, on the same disk. Removed by the next build of any process
  /// when this one is killed.
  Result<std::string> make_build_directory() const;

  /// Takes a module out of the build directory and gives its new path. It is found again only when
  /// `inputs`, all that was read, are known and did not change since the build directory was made.
  Result<std::string> store(const std::string& key, const std::string& module,
                            const std::vector<std::string>& inputs) const;

 private:
  ModuleCache(std::string directory, FileSystem& files)
      : directory_(std::move(directory)), files_(files) {}

  std::string manifest_of(const std::string& key) const;
  void remove_oldest() const;

  std::string directory_;
  FileSystem& files_;
};

}  // namespace freshet
