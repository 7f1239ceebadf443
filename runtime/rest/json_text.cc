#include "runtime/rest/json_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace freshet::rest {

namespace {

/// As it stands between quotes.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

void JsonText::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

JsonText& JsonText::begin(char bracket) {
  separate();
  text_ += bracket;
  return *this;
}

JsonText& JsonText::end(char bracket) {
  text_ += bracket;
  return *this;
}

JsonText& JsonText::name(std::string_view key) {
  separate();
  text_ += '"';
  text_ += key;
  text_ += "\":";
  return *this;
}

JsonText& JsonText::add(std::string_view key, int64_t value) {
  name(key);
  text_ += fmt::format_int(value).c_str();
  return *this;
}

JsonText& JsonText::add(std::string_view key, uint64_t value) {
  name(key);
  text_ += fmt::format_int(value).c_str();
  return *this;
}

JsonText& JsonText::add(std::string_view key, bool value) {
  name(key);
  text_ += value ? "true" : "false";
  return *this;
}

JsonText& JsonText::add(std::string_view key, std::string_view value) {
  if (!is_plain(value)) return add_json(key, Json(value));
  name(key);
  text_ += '"';
  text_ += value;
  text_ += '"';
  return *this;
}

JsonText& JsonText::add_json(std::string_view key, const Json& value) {
  name(key);
  text_ += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return *this;
}

}  // namespace freshet::rest
