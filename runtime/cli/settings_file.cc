#include "runtime/cli/settings_file.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "runtime/base/configuration.h"

namespace freshet::cli {

namespace {

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : mark.line + 1; }

/// Values go to other processes on command lines, and keys into messages.
bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// Empty, `?` and `!` are what plain and quoted text have.
bool is_tagged(const std::string& tag) { return !tag.empty() && tag != "?" && tag != "!"; }

/// Takes the parser's events rather than its tree, which may be as deep and as cyclic as the file
/// wants. Keeps the first error and is deaf from then on.
class SettingsHandler final : public YAML::EventHandler {
 public:
  explicit SettingsHandler(std::string path) : path_(std::move(path)) {}

  bool ok() const { return error_.ok(); }

  Result<FileSettings> take() {
    if (!error_.ok()) return error_;
    return std::move(settings_);
  }

  /// The first one stays.
  void refuse(int line, const std::string& why) {
    if (error_.ok()) error_ = invalid_argument(fmt::format("{}:{}: {}", path_, line, why));
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      refuse(line_of(mark), "a second document begins; leave out the line '---' or '...'");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (!error_.ok() || maps_.empty()) return;  // An empty file has no settings.
    if (!maps_.back().key) return refuse(line_of(mark), "a key is missing before ':'");
    refuse_without_value();
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(line_of(mark), "has an alias ('*name'); write out the value");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    if (!error_.ok()) return;
    if (maps_.empty()) return refuse_root(mark);
    if (is_tagged(tag)) return refuse(line_of(mark), "has a tag ('!name'); write the value alone");
    if (maps_.back().key) {
      set(value);
    } else {
      begin_setting(line_of(mark), value);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
    if (!error_.ok()) return;
    if (maps_.empty()) return refuse_root(mark);
    if (!maps_.back().key) return refuse(line_of(mark), "a key is a list; write its name");
    refuse(maps_.back().line, fmt::format("{}: is a list; a setting has one value", name()));
  }
  void OnSequenceEnd() override {}

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    if (!error_.ok()) return;
    if (!maps_.empty() && !maps_.back().key)
      return refuse(line_of(mark), "a key is a map; write its name");
    Map map;
    if (!maps_.empty()) map.prefix = name() + ".";
    maps_.push_back(std::move(map));
  }

  void OnMapEnd() override {
    if (!error_.ok()) return;
    const bool empty = maps_.back().lines.empty();
    maps_.pop_back();
    if (maps_.empty()) return;
    if (empty) return refuse_without_value();
    maps_.back().key.reset();
  }

 private:
  /// One that is being read; within its key stands the next one.
  struct Map {
    std::string prefix;              // Of the names of its settings.
    std::optional<std::string> key;  // Whose value comes next.
    int line = 0;                    // Of `key`.
    std::map<std::string, int> lines;
  };

  std::string name() const { return maps_.back().prefix + *maps_.back().key; }

  void refuse_root(const YAML::Mark& mark) {
    refuse(line_of(mark), "is no map of settings; write them as 'key: value', one a line");
  }

  void refuse_without_value() {
    refuse(maps_.back().line,
           fmt::format("{}: has no value; write one behind ':', or remove the line", name()));
  }

  void refuse_twice(int line, const std::string& which, int first) {
    refuse(line, fmt::format("{}: is in line {} already; remove one of them", which, first));
  }

  void begin_setting(int line, const std::string& key) {
    Map& map = maps_.back();
    if (map.prefix.size() + key.size() > kSettingsFileKeyMax || has_control_character(key)) {
      return refuse(line, fmt::format("a key is longer than {} characters, or not one line of text",
                                      kSettingsFileKeyMax));
    }
    const auto [first, added] = map.lines.emplace(key, line);
    if (!added) return refuse_twice(line, map.prefix + key, first->second);
    map.key = key;
    map.line = line;
  }

  void set(const std::string& value) {
    const std::string setting = name();
    const int line = maps_.back().line;
    maps_.back().key.reset();
    Configuration one;
    if (const Status known = one.set(setting, value); !known.ok())
      return refuse(line, known.message());
    if (has_control_character(value))
      return refuse(line, fmt::format("{}: is not one line of text", setting));
    if (const Status allowed = one.check_all(); !allowed.ok())
      return refuse(line, allowed.message());
    const auto [first, added] = settings_.emplace(setting, FileSetting{value, line});
    if (!added) refuse_twice(line, setting, first->second.line);
  }

  const std::string path_;
  Status error_;
  int documents_ = 0;
  std::vector<Map> maps_;
  FileSettings settings_;
};

}  // namespace

Result<FileSettings> parse_settings_file(const std::string& path, const std::string& text) {
  SettingsHandler handler(path);
  constexpr const char* kAdvice =
      "write settings as 'key: value', one a line, and values with special characters in quotes";
  // The library answers bad input with exceptions.
  try {
    // Without its last line ends: behind them the library takes a quote that nobody closed.
    std::istringstream stream(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
    YAML::Parser parser(stream);
    // What it cannot take, such as a stray ']', it would begin again and again as a new document.
    while (handler.ok() && parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::Exception& error) {
    handler.refuse(line_of(error.mark), fmt::format("not YAML: {}; {}", error.msg, kAdvice));
  } catch (const std::exception& error) {
    handler.refuse(1, fmt::format("not YAML: {}; {}", error.what(), kAdvice));
  }
  return handler.take();
}

Result<FileSettings> read_settings_file(const std::string& path, FileSystem& files) {
  const auto info = files.info(path);
  if (!info.ok()) return invalid_argument(info.status().message());
  if (info->is_directory || info->is_special)
    return invalid_argument(path + ": is no regular file; name a YAML file of settings");
  const auto text = files.read_all(path, kSettingsFileBytesMax);
  if (!text.ok()) return invalid_argument(text.status().message());
  return parse_settings_file(path, *text);
}

}  // namespace freshet::cli
