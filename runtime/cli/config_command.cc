#include <fmt/format.h>

#include <algorithm>

#include "runtime/cli/answer.h"
#include "runtime/cli/command.h"
#include "runtime/cli/config_view.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

struct ConfigOptions {
  SettingsOptions settings;
  std::vector<std::string> keys;
  Answer answer;
};

/// Those that were named, in that order; all when none was.
Result<std::vector<const ConfigKey*>> named_keys(const std::vector<std::string>& names) {
  if (names.empty()) return config_keys();
  std::vector<const ConfigKey*> keys;
  for (const std::string& name : names) {
    RETURN_IF_ERROR(Configuration().set(name, ""));  // Says which known name is near.
    keys.push_back(*std::find_if(config_keys().begin(), config_keys().end(),
                                 [&](const ConfigKey* key) { return key->name == name; }));
  }
  return keys;
}

Status show_config(const ConfigOptions& options) {
  ASSIGN_OR_RETURN(const auto keys, named_keys(options.keys));
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_any_setting));
  fmt::print("{}", options.answer.json() ? config_json(keys, given) : config_text(keys, given));
  return Status();
}

}  // namespace

void add_config_command(CLI::App& parser, std::vector<Command>& commands) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* const config_parser = parser.add_subcommand(
      "config", "Show settings: their values here, defaults, meanings, and where each is from");
  config_parser->add_option("KEY", options->keys, "Settings to show (default: all)");
  options->answer.add_flag(*config_parser, "An array of objects, for programs");
  add_settings(*config_parser, options->settings);
  config_parser->footer(
      "Examples:\n  freshet config\n  freshet config heartbeat.interval heartbeat.timeout\n"
      "  freshet config --config cluster.yaml --json\n"
      "A file of settings is YAML, such as\n"
      "  taskmanager.numberOfTaskSlots: 4\n  heartbeat:\n    interval: 2 s");
  commands.push_back(
      {config_parser, [options] { return options->answer.report(show_config(*options)); }});
}

}  // namespace freshet::cli
