#include <algorithm>
#include <cctype>

#include "runtime/app/network_memory.h"
#include "runtime/base/check.h"
#include "runtime/base/configuration.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/record_faults.h"
#include "runtime/base/scripted_faults.h"
#include "runtime/base/time.h"
#include "runtime/cli/command.h"
#include "runtime/cli/settings_file.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace freshet::fuzz {

namespace {

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// What a setting means does not change when it is written as it is shown.
void check_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration.ok()) {
    CHECK(duration.status().message().find("duration") != std::string::npos);
    return;
  }
  CHECK(*duration >= Duration::zero() && !has_control_character(text));
  const auto again = parse_duration(format_duration(*duration));
  CHECK(again.ok() && *again == *duration);
}

template <class T>
void check_number(const Configuration& configuration, const ConfigKey& key,
                  Result<T> (Configuration::*read)(const ConfigKey&) const) {
  const Result<T> value = (configuration.*read)(key);
  CHECK(value.ok() && static_cast<double>(*value) >= key.allowed.minimum &&
        static_cast<double>(*value) <= key.allowed.maximum);
  CHECK(!has_control_character(configuration.text(key)));
}

void check_value(const Configuration& configuration, const ConfigKey& key) {
  if (const Status status = configuration.check(key); !status.ok()) {
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(status.message().find(key.name) != std::string::npos);
    return;
  }
  switch (key.allowed.kind) {
    case ConfigKind::kInteger:
      return check_number(configuration, key, &Configuration::integer);
    case ConfigKind::kReal:
      return check_number(configuration, key, &Configuration::real);
    case ConfigKind::kBytes:
      return check_number(configuration, key, &Configuration::bytes);
    case ConfigKind::kDuration:
      return check_duration(configuration.text(key));
    case ConfigKind::kPorts:
      if (const auto ports = configuration.ports(key).value()) CHECK(ports->first <= ports->last);
      return;
    case ConfigKind::kBoolean:
      CHECK(configuration.boolean(key).ok());
      return;
    default:
      return;
  }
}

/// As after -D, one a line.
void check_pairs(Input input) {
  Configuration configuration;
  std::vector<std::string> pairs;
  bool known = true;
  while (!input.empty()) {
    pairs.emplace_back(input.line());
    const Status status = configuration.set_pair(pairs.back());
    CHECK(status.ok() || status.code() == StatusCode::kInvalidArgument);
    known = known && status.ok();
  }
  CHECK(cli::parse_settings(pairs).ok() == (known && configuration.check_all().ok()));
  for (const ConfigKey* key : config_keys()) check_value(configuration, *key);
  MemoryFileSystem files;
  (void)network_memory(configuration, files);
}

/// `text` between quotes, as YAML has it.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

void check_file(const std::string& text) {
  constexpr std::string_view kStart = "f.yaml:";
  const auto settings = cli::parse_settings_file("f.yaml", text);
  if (!settings.ok()) {
    const Status status = settings.status();
    const std::string& message = status.message();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    CHECK(message.starts_with(kStart) && std::isdigit(message[kStart.size()]) != 0);
    return;
  }
  std::string written;
  int lines = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n') +
                                   std::count(text.begin(), text.end(), '\r'));
  for (const auto& [name, setting] : *settings) {
    CHECK(setting.line >= 1 && setting.line <= lines);
    Configuration configuration;
    CHECK(configuration.set(name, setting.value).ok() && configuration.check_all().ok());
    CHECK(!has_control_character(setting.value));
    written += name + ": " + quoted(setting.value) + "\n";
  }
  const auto again = cli::parse_settings_file("f.yaml", written);
  CHECK(again.ok() && again->size() == settings->size());
  for (const auto& [name, setting] : *again) CHECK(settings->at(name).value == setting.value);
}

/// Rules of faults, and what a record says of them.
void check_faults_text(const std::string& text) {
  if (const auto faults = parse_faults(text); !faults.ok())
    CHECK(!faults.status().message().empty());
  if (const auto records = RecordFaults::parse(text); !records.ok())
    CHECK(!records.status().message().empty());
  if (const auto fired = parse_fired_fault(text)) {
    const std::string line = to_line(*fired);
    CHECK(parse_fired_fault(line.substr(0, line.size() - 1)) == fired);
  }
}

}  // namespace

/// input := 'y' YAML file | 'd' duration | 'f' faults | 'D' (key "=" value)*, one a line.
void settings(std::string_view bytes) {
  Input input(bytes);
  const uint8_t kind = input.byte();
  const std::string text(input.rest());
  switch (kind) {
    case 'y':
      return check_file(text);
    case 'd':
      return check_duration(text);
    case 'f':
      return check_faults_text(text);
    default:
      return check_pairs(input);
  }
}

Seeds settings_seeds() {
  std::string defaults = "D", file = "y",
              nested = "y# comment\ntaskmanager:\n  numberOfTaskSlots: 4\n";
  for (const ConfigKey* key : config_keys()) {
    defaults += std::string(key->name) + "=" + std::string(key->default_value) + "\n";
    if (!key->default_value.empty())
      file += std::string(key->name) + ": \"" + std::string(key->default_value) + "\"\n";
  }
  return {defaults,
          file,
          nested + "heartbeat:\n  interval: 1 s\n  timeout: 20s\n",
          "y{rest.port: 1, bind-host: \"a\\tb\"}",
          "ya: &x [1]\nb: *x\n---\n",
          "yrest.port: |\n  12\n",
          "d500 ms",
          "d1.5 h",
          "d 7",
          "d0x10 s",
          "d9e9 s",
          "Dtaskmanager.memory.network.size=64 mb\nrest.port=99999\nheart.interval=1",
          "Drestart-strategy.exponential-delay.jitter-factor=1e-1\nsecurity.secret=x=y",
          "Dmetrics.reporter.prom.port=9249-9349",
          "fcommit.before_rename:1:kill,deploy.before_ack:2:delay=50",
          "ftaskmanager-1/deploy.before_ack:every=2:kill",
          "f1700000000000 taskmanager-1 deploy.before_ack:2:kill deploy.before_ack 2",
          "flose:every=10",
          "fdouble:3",
          "fcancel.before_ack:0:throw"};
}

}  // namespace freshet::fuzz
