#include "runtime/cli/command.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/app/security.h"
#include "runtime/base/process_environment.h"
#include "runtime/cli/terminal_text.h"

namespace freshet::cli {

int report(const Status& status) {
  if (status.ok()) return kExitOk;
  fmt::print(stderr, "freshet: {}\n", terminal_text(status.message()));
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitFailed;
}

int fail(const Status& status) {
  static_cast<void>(report(status));
  return kExitFailed;
}

void add_settings(CLI::App& parser, std::vector<std::string>& pairs) {
  parser
      .add_option(
          "-D", pairs,
          "A setting, key=value; may be given several times. 'freshet config' lists all of them")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

Result<Configuration> parse_settings(const std::vector<std::string>& pairs) {
  Configuration configuration;
  for (const std::string& pair : pairs) {
    RETURN_IF_ERROR(configuration.set_pair(pair).with_context("-D " + pair));
  }
  RETURN_IF_ERROR(configuration.check_all().with_context("-D"));
  const std::string secret = environment_variable(kSecretVariable).value_or("");
  if (!secret.empty() && !configuration.has(config::kSecret)) {
    RETURN_IF_ERROR(configuration.set(std::string(config::kSecret.name), secret));
  }
  return configuration;
}

Status refuse_settings_of_jobs(const Configuration& configuration) {
  for (const ConfigKey* key : config_keys()) {
    if (key->scope != ConfigScope::kJob || !configuration.has(*key)) continue;
    return invalid_argument(fmt::format(
        "{} is a setting of a job, not of a process: give it to 'freshet run'", key->name));
  }
  return Status();
}

Status refuse_settings_of_processes(const Configuration& configuration) {
  for (const ConfigKey* key : config_keys()) {
    if (key->scope != ConfigScope::kProcess || !configuration.has(*key)) continue;
    const bool faults = key->name.starts_with("test.");
    return invalid_argument(fmt::format(
        "{} is a setting of a process, not of a job: give it to 'freshet cluster start', or to "
        "'freshet jobmanager' and 'freshet taskmanager'{}",
        key->name, faults ? ", with --allow-faults" : ""));
  }
  return Status();
}

HandedSettings hand_on(const Configuration& configuration) {
  HandedSettings handed;
  for (const auto& [key, value] : configuration.values()) {
    if (key == config::kSecret.name) {
      handed.environment[kSecretVariable] = value;
    } else {
      handed.arguments.push_back("-D");
      handed.arguments.push_back(key + "=" + value);
    }
  }
  return handed;
}

Result<uint32_t> parse_number(const std::string& option, const std::string& text, uint32_t minimum,
                              uint32_t maximum) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < minimum ||
      number > maximum) {
    return invalid_argument(fmt::format("{}: '{}' is not a whole number from {} to {}", option,
                                        text, minimum, maximum));
  }
  return number;
}

Result<uint32_t> parse_number(const std::string& option, const std::string& text,
                              const ConfigKey& key) {
  return parse_number(option, text, static_cast<uint32_t>(key.allowed.minimum),
                      static_cast<uint32_t>(key.allowed.maximum));
}

}  // namespace freshet::cli
