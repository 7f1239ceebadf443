#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/chaos/verdict.h"

namespace freshet::chaos {

struct OutputCheckOptions {
  /// So many different records are counted at once, with 32 to 64 bytes for each; with more the
  /// outputs are read several times. At least 1.
  size_t records_in_memory = 14'000'000;
};

/// Compares two outputs of one job as multisets of lines, whatever the files and the order in
/// which they come. A record that is lost and one that is invented are one that was altered when
/// their ids, their first columns (id_of()), are equal. A line at the end of a file without `\n` is
/// another record than with it: the file was cut. What lies in the actual output but is no output
/// is a leftover.
///
/// Fails, with the path, when a directory is missing or something in it cannot be read.
Result<OutputVerdict> compare_outputs(const std::string& expected_directory,
                                      const std::string& actual_directory, FileSystem&,
                                      const OutputCheckOptions& options = {});

}  // namespace freshet::chaos
