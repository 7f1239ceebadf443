#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/hash_128.h"
#include "runtime/base/status.h"

namespace freshet::chaos {

/// The files of an output, in the order of their names, with those of its folders.
struct OutputFiles {
  std::vector<std::string> names;      // Below the directory.
  std::vector<std::string> leftovers;  // Names that begin with a dot: nobody reads them.
};

/// kNotFound, and so on, when the directory cannot be read; kFailedPrecondition for what is no
/// file, such as a pipe. The message names the path.
Result<OutputFiles> list_output(const std::string& directory, FileSystem&);

/// What a job left that was never published: names with a dot in its output's directory, and those
/// of that directory beside it. Full paths. Ok and empty when there is nothing at all.
Result<std::vector<std::string>> find_leftovers(const std::string& directory, FileSystem&);

/// One line of a file, without its end.
struct OutputLine {
  Hash128 hash;           // Of all of it. One without an end, the last of a file, has another hash.
  uint64_t id_hash = 0;   // Of its first column.
  std::string_view head;  // Its first kHeadBytesMax bytes.
  uint64_t size = 0;
  bool ended = true;
  uint64_t number = 0;  // From 1.
};

/// A longer line is never whole in memory.
inline constexpr size_t kHeadBytesMax = 1 << 20;

/// The first column of a record: what is before the first tab, comma or space; without one, all of
/// it.
std::string_view id_of(std::string_view record);

/// Gives each line of a file; `use` says whether to go on.
Status scan_lines(const std::string& path, FileSystem&,
                  const std::function<bool(const OutputLine&)>& use);

}  // namespace freshet::chaos
