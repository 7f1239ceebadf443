#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "shuffle/spill_place.h"

namespace freshet {

/// Where one TaskManager keeps its temporary files: in its state directory, or in a directory of
/// its own in each of those that were set. The same after it was killed, so that it can remove what
/// it left.
class TempRoots {
 public:
  TempRoots() = default;

  /// What io.tmp.dirs names.
  static std::vector<std::string> directories_of(std::string_view setting);

  /// `setting` as io.tmp.dirs. Each must be there, once, and files can be made in it; errors name
  /// the setting and the directory. Makes what belongs to this TaskManager alone.
  static Result<TempRoots> open(std::string_view setting, const std::string& state_directory,
                                FileSystem& files);

  /// `place` in all of them, in directories of that name.
  SpillPlace place(std::string_view name, SpillPlace place) const;

  /// When nothing is left in them that anybody wants.
  void remove() const;

 private:
  Status make() const;

  FileSystem* files_ = nullptr;  // Null: they are not its own.
  std::vector<std::string> roots_;
};

}  // namespace freshet
