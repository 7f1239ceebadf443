#include "runtime/base/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/check.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/settings_table.h"

namespace freshet {

namespace config {

namespace {

using enum ConfigScope;

constexpr Allowed text() { return {ConfigKind::kText, 0, 0, {}}; }
constexpr Allowed choice(std::string_view words) { return {ConfigKind::kChoice, 0, 0, words}; }
constexpr Allowed boolean() { return {ConfigKind::kBoolean, 0, 0, {}}; }
constexpr Allowed ports() { return {ConfigKind::kPorts, 0, 65'535, {}}; }
constexpr Allowed duration() { return {ConfigKind::kDuration, 0, 0, {}}; }
constexpr Allowed integer(double minimum, double maximum) {
  return {ConfigKind::kInteger, minimum, maximum, {}};
}
constexpr Allowed real(double minimum, double maximum) {
  return {ConfigKind::kReal, minimum, maximum, {}};
}
constexpr Allowed bytes(double minimum, double maximum) {
  return {ConfigKind::kBytes, minimum, maximum, {}};
}

}  // namespace

#define FRESHET_DEFINE_SETTING(constant, ...) const ConfigKey constant{__VA_ARGS__};
FRESHET_SETTINGS(FRESHET_DEFINE_SETTING)
#undef FRESHET_DEFINE_SETTING

}  // namespace config

const std::vector<const ConfigKey*>& config_keys() {
  static const std::vector<const ConfigKey*> keys = [] {
#define FRESHET_LIST_SETTING(constant, ...) &config::constant,
    std::vector<const ConfigKey*> all = {FRESHET_SETTINGS(FRESHET_LIST_SETTING)};
#undef FRESHET_LIST_SETTING
    std::sort(all.begin(), all.end(),
              [](const ConfigKey* a, const ConfigKey* b) { return a->name < b->name; });
    return all;
  }();
  return keys;
}

namespace {

template <class Number>
bool in_range(const ConfigKey& key, Number number) {
  return number >= static_cast<Number>(key.allowed.minimum) &&
         number <= static_cast<Number>(key.allowed.maximum);
}

bool is_one_of(std::string_view word, std::string_view words) {
  while (true) {
    const size_t end = words.find('|');
    if (word == words.substr(0, end)) return true;
    if (end == words.npos) return false;
    words.remove_prefix(end + 1);
  }
}

const ConfigKey* find_key(std::string_view name) {
  const auto& keys = config_keys();
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey* key) { return key->name == name; });
  return found == keys.end() ? nullptr : *found;
}

constexpr size_t kShownMax = 256;  // Of what somebody gave: it may be a client of the network.

std::string shown(const std::string& text) {
  return text.size() <= kShownMax ? text : text.substr(0, kShownMax) + "...";
}

Status unknown_name(const std::string& name) {
  if (name.size() > kShownMax)
    return invalid_argument(fmt::format("no setting is called '{}'", shown(name)));
  if (name.starts_with("execution.checkpointing.") || name.starts_with("state.checkpoints.")) {
    return invalid_argument(fmt::format(
        "{}: there are no checkpoints; a batch makes again what it lost, and a stream starts again "
        "from its beginning. Leave it out",
        name));
  }
  std::vector<std::string_view> known;
  for (const ConfigKey* key : config_keys()) known.push_back(key->name);
  std::string message = fmt::format("no setting is called '{}'", name);
  if (const auto nearest = nearest_name(name, known))
    return invalid_argument(message + fmt::format("; did you mean '{}'?", *nearest));
  message += "; there are:";
  for (const ConfigKey* key : config_keys()) message += fmt::format("\n  {}", key->name);
  return invalid_argument(std::move(message));
}

Status bad_value(const ConfigKey& key, const std::string& value, const std::string& wanted) {
  return invalid_argument(fmt::format("{}: '{}' is not {}", key.name, shown(value), wanted));
}

}  // namespace

Status Configuration::set(const std::string& name, std::string value) {
  if (find_key(name) == nullptr) return unknown_name(name);
  values_[name] = std::move(value);
  return Status();
}

Status Configuration::set_pair(const std::string& pair) {
  const size_t equals = pair.find('=');
  if (equals == pair.npos || equals == 0)
    return invalid_argument("'" + shown(pair) + "' is not key=value");
  return set(pair.substr(0, equals), pair.substr(equals + 1));
}

bool Configuration::has(const ConfigKey& key) const {
  return values_.contains(std::string(key.name));
}

std::string Configuration::text(const ConfigKey& key) const {
  const auto it = values_.find(std::string(key.name));
  return it != values_.end() ? it->second : std::string(key.default_value);
}

Result<int64_t> Configuration::integer(const ConfigKey& key) const {
  CHECK(key.allowed.kind == ConfigKind::kInteger);
  const std::string value = text(key);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !in_range(key, number)) {
    return bad_value(key, value, allowed_values(key));
  }
  return number;
}

Result<double> Configuration::real(const ConfigKey& key) const {
  CHECK(key.allowed.kind == ConfigKind::kReal);
  const std::string value = text(key);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number) ||
      !in_range(key, number)) {
    return bad_value(key, value, allowed_values(key));
  }
  return number;
}

Result<bool> Configuration::boolean(const ConfigKey& key) const {
  CHECK(key.allowed.kind == ConfigKind::kBoolean);
  const std::string value = text(key);
  if (value == "true") return true;
  if (value == "false") return false;
  return bad_value(key, value, allowed_values(key));
}

Result<Duration> Configuration::duration(const ConfigKey& key) const {
  CHECK(key.allowed.kind == ConfigKind::kDuration);
  auto parsed = parse_duration(text(key));
  if (!parsed.ok()) return parsed.status().with_context(key.name);
  return parsed;
}

Result<std::optional<PortRange>> Configuration::ports(const ConfigKey& key) const {
  CHECK(key.allowed.kind == ConfigKind::kPorts);
  const std::string value = text(key);
  if (value.empty()) return std::optional<PortRange>();
  PortRange range;
  const char* const end = value.data() + value.size();
  auto parsed = std::from_chars(value.data(), end, range.first);
  range.last = range.first;
  const bool is_range = parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-';
  if (is_range) parsed = std::from_chars(parsed.ptr + 1, end, range.last);
  const bool is_any = range.first == 0 && range.last == 0 && !is_range;
  if (parsed.ec != std::errc() || parsed.ptr != end || range.last < range.first ||
      (range.first == 0 && !is_any))
    return bad_value(key, value, allowed_values(key));
  return std::optional(range);
}

Result<uint64_t> Configuration::bytes(const ConfigKey& key) const {
  CHECK(key.allowed.kind == ConfigKind::kBytes);
  const std::string value = text(key);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string unit = value.substr(static_cast<size_t>(end - value.data()));
  unit.erase(0, unit.find_first_not_of(' '));
  unit.erase(unit.find_last_not_of(' ') + 1);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  static const std::map<std::string, int> kShifts = {{"", 0},   {"b", 0},   {"k", 10}, {"kb", 10},
                                                     {"m", 20}, {"mb", 20}, {"g", 30}, {"gb", 30}};
  const auto shift = kShifts.find(unit);
  if (error != std::errc() || shift == kShifts.end() || number > (~0ull >> 34)) {
    return bad_value(key, value, "a size such as 64 mb");
  }
  number <<= shift->second;
  if (!in_range(key, number)) return bad_value(key, value, allowed_values(key));
  return number;
}

Status Configuration::check(const ConfigKey& key) const {
  switch (key.allowed.kind) {
    case ConfigKind::kText:
      break;
    case ConfigKind::kChoice:
      if (is_one_of(text(key), key.allowed.words)) return Status();
      return bad_value(key, text(key), allowed_values(key));
    case ConfigKind::kBoolean:
      return boolean(key).status();
    case ConfigKind::kInteger:
      return integer(key).status();
    case ConfigKind::kReal:
      return real(key).status();
    case ConfigKind::kBytes:
      return bytes(key).status();
    case ConfigKind::kDuration:
      return duration(key).status();
    case ConfigKind::kPorts:
      return ports(key).status();
  }
  return Status();
}

Status Configuration::check_all() const {
  for (const auto& [name, value] : values_) RETURN_IF_ERROR(check(*find_key(name)));
  return Status();
}

}  // namespace freshet
