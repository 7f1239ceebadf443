#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file_system.h"

namespace freshet {

/// True when one path component matches: `*` any characters, `?` one, `[a-z]` one of these,
/// `[!a-z]` none of these, a backslash takes the next character as it is.
bool matches_name(std::string_view pattern, std::string_view name);

/// The files that `patterns` name, sorted within each pattern, a path at most once. May block. A
/// pattern is, in this order:
/// - a file, hidden or not; a symbolic link is followed;
/// - a directory: the files in it, links to files included, but not those of its subdirectories and
/// no hidden ones;
/// - a pattern of components, in which `**` stands for any number of directories (links to
/// directories are not followed by
///   it): the files that match. Hidden names match only components that start with their first
///   character.
/// A component that exists as it is written is no pattern. Hidden are names that start with `.` or
/// `_`. A pattern that gives nothing, a pipe or a device: kNotFound or kInvalidArgument, with its
/// name and what to do.
Result<std::vector<FileInfo>> expand_patterns(const std::vector<std::string>& patterns,
                                              FileSystem& files);

/// What is there and cannot be read, with why and what to do.
Status unreadable_input(const std::string& path, const Status& why);

}  // namespace freshet
