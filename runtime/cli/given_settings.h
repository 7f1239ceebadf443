#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/configuration.h"
#include "runtime/base/file_system.h"
#include "runtime/cli/settings_file.h"

namespace freshet::cli {

inline constexpr char kConfVariable[] = "FRESHET_CONF";
inline constexpr char kDefaultSettingsFile[] = "freshet.yaml";  // In the current directory.

/// What was written on the command line.
struct SettingsOptions {
  std::vector<std::string> pairs;   // Of -D.
  std::optional<std::string> file;  // Of --config.
  bool no_file = false;             // --no-config.
};

/// Adds -D, --config and --no-config.
void add_settings(CLI::App& parser, SettingsOptions&);

/// Which settings of a file a command takes. A file is for all commands: what this one would not
/// read is checked and left out, while -D is refused there.
using SettingsFilter = bool (*)(const ConfigKey&);
bool is_any_setting(const ConfigKey&);
bool is_read_by_processes(const ConfigKey&);
bool is_read_by_jobs(const ConfigKey&);
/// Of a job, and of the process that it runs in with `run --local`.
bool is_read_by_local_job(const ConfigKey&);

struct GivenSettings {
  Configuration configuration;
  std::map<std::string, std::string> origins;  // By name: `-D`, `FRESHET_SECRET` or `path:line`.

  /// `default` when it was not given.
  std::string origin(const ConfigKey&) const;
};

/// The one file that is read: of --config, else of $FRESHET_CONF, else ./freshet.yaml if there is
/// one; empty: none.
Result<std::string> settings_file_of(const SettingsOptions&,
                                     const std::optional<std::string>& conf_variable, FileSystem&);

/// -D wins over FRESHET_SECRET, and that over the file, whose path is for origins.
Result<GivenSettings> merge_settings(const std::vector<std::string>& pairs, const FileSettings&,
                                     const std::string& path, SettingsFilter);

/// All of this with the environment and the files of this process. Refuses a ./freshet.yaml that
/// another user could have written.
Result<GivenSettings> read_settings(const SettingsOptions&, SettingsFilter);

}  // namespace freshet::cli
