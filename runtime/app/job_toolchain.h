#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace freshet {

/// How jobs for this library are compiled. The build of the library leaves it in a file, a fact per
/// line and the order of lines that of the command; relative paths start at the file's folder:
///
///   file := line*
///   line := "compiler" program  (a path, or a name in PATH; the first that is there is taken)
///         | "flag" text
///         | "gnu-flag" text     (clang does not know it)
///         | "headers" directory
///         | "library" file
///         | "link" text         (behind the library)
struct JobToolchain {
  std::vector<std::string> compilers;
  std::vector<std::string> flags;
  std::vector<std::string> gnu_flags;
  std::string headers;
  std::string library;
  std::vector<std::string> link;

  /// `file` is where the text comes from.
  static Result<JobToolchain> parse(const std::string& text, const std::string& file);
};

}  // namespace freshet
