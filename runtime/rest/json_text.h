#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/rest/rest_json.h"

namespace freshet::rest {

/// JSON that is written from its beginning to its end, to the same bytes as a Json with the same
/// content: for answers about thousands of subtasks, where a tree of values costs more than what it
/// tells. Keys are taken as they are.
class JsonText {
 public:
  JsonText& begin_object() { return begin('{'); }
  JsonText& begin_object(std::string_view key) { return name(key).begin('{'); }
  JsonText& end_object() { return end('}'); }
  JsonText& begin_array() { return begin('['); }
  JsonText& begin_array(std::string_view key) { return name(key).begin('['); }
  JsonText& end_array() { return end(']'); }

  JsonText& add(std::string_view key, int64_t value);
  JsonText& add(std::string_view key, uint64_t value);
  JsonText& add(std::string_view key, uint32_t value) { return add(key, uint64_t{value}); }
  JsonText& add(std::string_view key, bool value);
  JsonText& add(std::string_view key, std::string_view value);
  JsonText& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  JsonText& add_json(std::string_view key, const Json& value);

  void reserve(size_t bytes) { text_.reserve(bytes); }
  /// All of it.
  std::string take() { return std::move(text_); }

 private:
  JsonText& begin(char bracket);
  JsonText& end(char bracket);
  JsonText& name(std::string_view key);
  /// Before what is next in an array or object.
  void separate();

  std::string text_;
};

}  // namespace freshet::rest
