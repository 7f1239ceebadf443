#include "runtime/cli/config_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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

/// How many bytes the UTF-8 character at the beginning of `text` has; 0 when it is none.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xc2 && first < 0xe0 ? 2
                      : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4
                                                      : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (size < 3) return size;
  // Too long for what it says, a surrogate, or beyond U+10FFFF.
  const bool wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                     (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
  return wrong ? 0 : size;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const size_t size = character_bytes(text);
    const char c = text.front();
    if (size == 0) {
      json += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (size == 1 && static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      json += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return json + '"';
}

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
  std::string json = "[";
  for (const ConfigKey* key : keys) {
    const std::pair<const char*, std::string> members[] = {
        {"key", std::string(key->name)},
        {"value", value_of(*key, given)},
        {"default", std::string(key->default_value)},
        {"type", type_of(key->allowed.kind)},
        {"values", allowed_values(*key)},
        {"read_by", readers_of(*key)},
        {"meaning", std::string(key->meaning)},
        {"origin", given.origin(*key)}};
    json += json.size() == 1 ? "\n  {" : ",\n  {";
    for (const auto& [name, value] : members) {
      if (json.back() != '{') json += ", ";
      json += fmt::format("\"{}\": {}", name, json_string(value));
    }
    json += '}';
  }
  return json + "\n]\n";
}

}  // namespace freshet::cli
