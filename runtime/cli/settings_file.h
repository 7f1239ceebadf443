#pragma once

#include <map>
#include <string>

#include "runtime/base/file_system.h"

namespace freshet::cli {

/// One setting of a configuration file.
struct FileSetting {
  std::string value;
  int line = 0;  // Of its key; the first is 1.
};

/// By the name of the setting.
using FileSettings = std::map<std::string, FileSetting>;

inline constexpr uint64_t kSettingsFileBytesMax = 1 << 20;
inline constexpr size_t kSettingsFileKeyMax = 256;

/// The settings of a YAML file: a map of names to single values, where maps within maps stand for
/// names with dots. Names and values are checked as after -D. Every error is kInvalidArgument and
/// begins with `path:line`.
Result<FileSettings> parse_settings_file(const std::string& path, const std::string& text);

/// The same of a regular file of at most kSettingsFileBytesMax.
Result<FileSettings> read_settings_file(const std::string& path, FileSystem&);

}  // namespace freshet::cli
