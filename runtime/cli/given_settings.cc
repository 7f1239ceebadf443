#include "runtime/cli/given_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/app/private_directory.h"
#include "runtime/app/security.h"
#include "runtime/base/process_environment.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

bool is_among(const std::string& key, const std::vector<std::string>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [&](const std::string& pair) { return pair.starts_with(key + "="); });
}

/// Whoever writes ./freshet.yaml decides where ports open, and with which secret.
Status refuse_file_of_others(const std::string& path) {
  const Status trusted = check_trusted_file(path);
  if (trusted.ok()) return trusted;
  return invalid_argument(trusted.message() +
                          "; name it with --config if it is to be used, or leave it out with "
                          "--no-config");
}

}  // namespace

void add_settings(CLI::App& parser, SettingsOptions& options) {
  add_settings(parser, options.pairs);
  auto* const file =
      parser
          .add_option("--config", options.file,
                      "YAML file of settings, over which -D wins (default: $FRESHET_CONF, else "
                      "./freshet.yaml if there is one)")
          ->type_name("FILE");
  parser.add_flag("--no-config", options.no_file, "Read no file of settings")->excludes(file);
}

bool is_any_setting(const ConfigKey& /*key*/) { return true; }
bool is_read_by_processes(const ConfigKey& key) { return key.scope != ConfigScope::kJob; }
bool is_read_by_jobs(const ConfigKey& key) { return key.scope != ConfigScope::kProcess; }

bool is_read_by_local_job(const ConfigKey& key) {
  return &key != &config::kTaskSlots && &key != &config::kBindHost && &key != &config::kRpcPort &&
         &key != &config::kDataPort && &key != &config::kDataBindPort &&
         &key != &config::kPrometheusPort;
}

std::string GivenSettings::origin(const ConfigKey& key) const {
  const auto found = origins.find(std::string(key.name));
  return found == origins.end() ? "default" : found->second;
}

Result<std::string> settings_file_of(const SettingsOptions& options,
                                     const std::optional<std::string>& conf_variable,
                                     FileSystem& files) {
  if (options.no_file) return std::string();
  if (options.file && options.file->empty())
    return invalid_argument("--config: names no file; --no-config reads none");
  if (options.file) return *options.file;
  if (conf_variable && !conf_variable->empty()) return *conf_variable;
  const auto info = files.info(kDefaultSettingsFile);
  if (info.ok()) return std::string(kDefaultSettingsFile);
  if (info.status().code() == StatusCode::kNotFound) return std::string();
  return invalid_argument(info.status().message() + "; leave it out with --no-config");
}

Result<GivenSettings> merge_settings(const std::vector<std::string>& pairs,
                                     const FileSettings& settings, const std::string& path,
                                     SettingsFilter takes) {
  GivenSettings given;
  ASSIGN_OR_RETURN(given.configuration, parse_settings(pairs));
  for (const auto& [key, value] : given.configuration.values())
    given.origins[key] = is_among(key, pairs) ? "-D" : kSecretVariable;
  for (const ConfigKey* key : config_keys()) {
    const auto setting = settings.find(std::string(key->name));
    if (setting == settings.end() || !takes(*key) || given.configuration.has(*key)) continue;
    RETURN_IF_ERROR(given.configuration.set(setting->first, setting->second.value));
    given.origins[setting->first] = fmt::format("{}:{}", path, setting->second.line);
  }
  return given;
}

Result<GivenSettings> read_settings(const SettingsOptions& options, SettingsFilter takes) {
  const auto files = make_local_file_system();
  const auto conf = environment_variable(kConfVariable);
  ASSIGN_OR_RETURN(const std::string path, settings_file_of(options, conf, *files));
  if (path.empty()) return merge_settings(options.pairs, {}, path, takes);
  const bool named_by_variable = !options.file && conf && !conf->empty();
  if (!options.file && !named_by_variable) RETURN_IF_ERROR(refuse_file_of_others(path));
  const auto settings = read_settings_file(path, *files);
  if (!settings.ok())
    return named_by_variable ? settings.status().with_context(kConfVariable) : settings.status();
  return merge_settings(options.pairs, *settings, path, takes);
}

}  // namespace freshet::cli
