#include "runtime/cli/config_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runtime/base/settings_table.h"

namespace freshet::cli {

namespace {

using Line = std::array<std::string, 4>;

const char* type_of(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::kText:
      return "text";
    case ConfigKind::kChoice:
      return "choice";
    case ConfigKind::kBoolean:
      return "boolean";
    case ConfigKind::kInteger:
      return "integer";
    case ConfigKind::kReal:
      return "real";
    case ConfigKind::kBytes:
      return "bytes";
    case ConfigKind::kDuration:
      return "duration";
    case ConfigKind::kPorts:
      return "ports";
  }
  return "";
}

std::string value_of(const ConfigKey& key, const GivenSettings& given) {
  std::string value = given.configuration.text(key);
  return &key == &config::kSecret && !value.empty() ? kHidden : value;
}

/// As it fits into a column: something to see, and nothing that moves the cursor.
std::string cell(std::string_view text) {
  if (text.empty()) return "-";
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return shown;
}

}  // namespace

std::string config_text(const std::vector<const ConfigKey*>& keys, const GivenSettings& given) {
  std::vector<Line> lines = {{"KEY", "VALUE", "DEFAULT", "ORIGIN"}};
  for (const ConfigKey* key : keys) {
    lines.push_back({std::string(key->name), cell(value_of(*key, given)), cell(key->default_value),
                     cell(given.origin(*key))});
  }
  Line::size_type widths[3] = {};
  for (const Line& line : lines) {
    for (size_t i = 0; i < 3; i++) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); i++) {
    const Line& line = lines[i];
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", line[0], widths[0], line[1], widths[1],
                        line[2], widths[2], line[3]);
    if (i == 0) continue;
    const ConfigKey& key = *keys[i - 1];
    text += fmt::format("    {}; read by {}; {}\n", allowed_values(key),
                        key.scope == ConfigScope::kBoth ? "processes and jobs" : readers_of(key),
                        key.meaning);
  }
  return text;
}

std::string config_json(const std::vector<const ConfigKey*>& keys, const GivenSettings& given) {
  using Json = nlohmann::ordered_json;
  Json settings = Json::array();
  for (const ConfigKey* key : keys) {
    settings.push_back({{"key", key->name},
                        {"value", value_of(*key, given)},
                        {"default", key->default_value},
                        {"type", type_of(key->allowed.kind)},
                        {"values", allowed_values(*key)},
                        {"read_by", readers_of(*key)},
                        {"meaning", key->meaning},
                        {"origin", given.origin(*key)}});
  }
  return settings.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace freshet::cli
