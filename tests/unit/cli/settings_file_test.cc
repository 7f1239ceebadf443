#include "runtime/cli/settings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/configuration.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// `key=value@line` of each.
std::vector<std::string> parsed(const std::string& text) {
  const auto settings = parse_settings_file("f.yaml", text);
  if (!settings.ok()) return {settings.status().to_string()};
  std::vector<std::string> all;
  for (const auto& [key, setting] : *settings)
    all.push_back(key + "=" + setting.value + "@" + std::to_string(setting.line));
  return all;
}

std::string refused(const std::string& text) {
  const auto settings = parse_settings_file("f.yaml", text);
  if (settings.ok()) return "taken";
  EXPECT_EQ(settings.status().code(), StatusCode::kInvalidArgument);
  return settings.status().message();
}

using Settings = std::vector<std::string>;

TEST(SettingsFileTest, ReadsNamesWithDotsAndMapsWithinMaps) {
  EXPECT_EQ(parsed("# Ours.\n"
                   "taskmanager.data.port: 0\n"
                   "heartbeat:\n"
                   "  interval: 2 s\n"
                   "  timeout: '20 s'  # Quoted.\n"
                   "restart-strategy: {type: none, fixed-delay.attempts: 3}\n"),
            (Settings{"heartbeat.interval=2 s@4", "heartbeat.timeout=20 s@5",
                      "restart-strategy.fixed-delay.attempts=3@6", "restart-strategy.type=none@6",
                      "taskmanager.data.port=0@2"}));
  EXPECT_EQ(parsed("security.secret: \"\"\n"), (Settings{"security.secret=@1"}));
  EXPECT_EQ(parsed("---\nheartbeat.interval: 1 s\n...\n"), (Settings{"heartbeat.interval=1 s@2"}));
  EXPECT_EQ(parsed("\xef\xbb\xbfheartbeat.interval: 1 s\r\n"),
            (Settings{"heartbeat.interval=1 s@1"}));
}

TEST(SettingsFileTest, AFileWithoutSettingsIsEmpty) {
  for (const std::string text : {"", "\n\n", "# nothing\n", "---\n", "{}", "~"}) {
    EXPECT_EQ(parsed(text), Settings{}) << text;
  }
}

TEST(SettingsFileTest, TakesEverySettingWithItsDefault) {
  std::string text;
  for (const ConfigKey* key : config_keys())
    text += std::string(key->name) + ": '" + std::string(key->default_value) + "'\n";
  EXPECT_EQ(parsed(text).size(), config_keys().size());
}

TEST(SettingsFileTest, SaysWhichNameOrValueIsWrongAndWhatIsRight) {
  EXPECT_EQ(refused("\nheartbeat.intervall: 1 s\n"),
            "f.yaml:2: no setting is called 'heartbeat.intervall'; did you mean "
            "'heartbeat.interval'?");
  EXPECT_EQ(refused("taskmanager:\n  data:\n    prt: 1\n"),
            "f.yaml:3: no setting is called 'taskmanager.data.prt'; did you mean "
            "'taskmanager.data.port'?");
  EXPECT_THAT(refused("foo: 1\n"),
              StartsWith("f.yaml:1: no setting is called 'foo'; there are:\n  bind-host\n"));
  EXPECT_EQ(refused("heartbeat.interval: 1 s\ntaskmanager.data.port: 65536\n"),
            "f.yaml:2: taskmanager.data.port: '65536' is not a whole number from 0 to 65535");
  EXPECT_THAT(refused("heartbeat:\n  interval: soon\n"),
              StartsWith("f.yaml:2: heartbeat.interval: "));
}

TEST(SettingsFileTest, RefusesWhatIsThereTwice) {
  EXPECT_EQ(refused("heartbeat.interval: 1 s\nbind-host: a\nheartbeat.interval: 1 s\n"),
            "f.yaml:3: heartbeat.interval: is in line 1 already; remove one of them");
  EXPECT_EQ(refused("heartbeat.interval: 1 s\nheartbeat:\n  interval: 2 s\n"),
            "f.yaml:3: heartbeat.interval: is in line 1 already; remove one of them");
  EXPECT_EQ(refused("heartbeat:\n  interval: 1 s\nheartbeat:\n  timeout: 2 s\n"),
            "f.yaml:3: heartbeat: is in line 1 already; remove one of them");
}

TEST(SettingsFileTest, RefusesWhatIsNoSingleValue) {
  const std::string no_value = ": has no value; write one behind ':', or remove the line";
  EXPECT_EQ(refused("bind-host: a\nheartbeat.interval:\n"),
            "f.yaml:2: heartbeat.interval" + no_value);
  EXPECT_EQ(refused("heartbeat.interval: ~\n"), "f.yaml:1: heartbeat.interval" + no_value);
  EXPECT_EQ(refused("heartbeat: {}\n"), "f.yaml:1: heartbeat" + no_value);
  EXPECT_EQ(refused("heartbeat:\n  interval:\n    - 1 s\n"),
            "f.yaml:2: heartbeat.interval: is a list; a setting has one value");
  EXPECT_EQ(refused("bind-host: \"a\\0b\"\n"), "f.yaml:1: bind-host: is not one line of text");
  EXPECT_EQ(refused("bind-host: |\n  a\n  b\n"), "f.yaml:1: bind-host: is not one line of text");
}

TEST(SettingsFileTest, RefusesWhatYamlHasBesides) {
  EXPECT_EQ(refused("heartbeat.interval: &one 1 s\nheartbeat.timeout: *one\n"),
            "f.yaml:2: has an alias ('*name'); write out the value");
  EXPECT_EQ(refused("heartbeat: &loop\n  interval: *loop\n"),
            "f.yaml:2: has an alias ('*name'); write out the value");
  EXPECT_EQ(refused("heartbeat.interval: !include x\n"),
            "f.yaml:1: has a tag ('!name'); write the value alone");
  EXPECT_EQ(refused("bind-host: a\n---\nbind-host: b\n"),
            "f.yaml:2: a second document begins; leave out the line '---' or '...'");
  EXPECT_EQ(refused("? [a, b]\n: 1\n"), "f.yaml:1: a key is a list; write its name");
  EXPECT_EQ(refused("? {a: b}\n: 1\n"), "f.yaml:1: a key is a map; write its name");
  EXPECT_EQ(refused(": 1\n"), "f.yaml:1: a key is missing before ':'");
  EXPECT_EQ(refused("? " + std::string(kSettingsFileKeyMax + 1, 'k') + "\n: 1\n"),
            "f.yaml:1: a key is longer than 256 characters, or not one line of text");
}

TEST(SettingsFileTest, RefusesWhatIsNoMap) {
  const std::string no_map =
      "f.yaml:2: is no map of settings; write them as 'key: value', one a line";
  EXPECT_EQ(refused("\nheartbeat.interval=1 s\n"), no_map);
  EXPECT_EQ(refused("\n- heartbeat.interval\n"), no_map);
}

TEST(SettingsFileTest, SaysInWhichLineAFileIsNoYaml) {
  EXPECT_EQ(refused("heartbeat.interval: 1 s\nbind-host: a: b\n"),
            "f.yaml:2: not YAML: illegal map value; write settings as 'key: value', one a line, "
            "and values with special characters in quotes");
  for (const std::string text : {"bind-host: 'a\n", "bind-host: {\n", "\tbind-host: a\n",
                                 "bind-host: \"\\q\"\n", "bind-host: @a\n", "%TAG x\n", "]"}) {
    EXPECT_THAT(refused(text), StartsWith("f.yaml:")) << text;
  }
}

TEST(SettingsFileTest, SurvivesWhatIsMadeToBreakIt) {
  for (const std::string piece : {"[", "{", "- ", "? ", "{a: ", "[[a]: ", "a:\n ", "&a ", "*", "!",
                                  "\"", "'", "|\n", ": ", "\t", "%", "---\n"}) {
    std::string text;
    while (text.size() < 50'000) text += piece;
    const auto settings = parse_settings_file("f.yaml", text);
    if (settings.ok()) {
      EXPECT_TRUE(settings->empty()) << piece;
      continue;
    }
    EXPECT_THAT(settings.status().message(), StartsWith("f.yaml:")) << piece;
  }
}

TEST(SettingsFileTest, AnswersAnyBytes) {
  const std::string seed =
      "taskmanager.data.port: 0\nheartbeat:\n  interval: 2 s\n  timeout: '20 s'\n"
      "restart-strategy: {type: none}\nbind-host: \"a\\x41\"\n";
  const std::string special = "[]{}:,-?&*!|>'\"%@` \n\t#\\\0\xff\xfe\xc3";
  const auto random = make_seeded_random(17);
  for (int round = 0; round < 2'000; round++) {
    std::string text = seed;
    for (uint64_t changes = 1 + random->below(4); changes > 0; changes--) {
      const size_t at = random->below(text.size());
      const char byte = special[random->below(special.size())];
      if (random->below(2) == 0) {
        text[at] = byte;
      } else {
        text.insert(at, 1, byte);
      }
    }
    const auto settings = parse_settings_file("f.yaml", text);
    if (settings.ok()) continue;
    EXPECT_THAT(settings.status().message(), StartsWith("f.yaml:"));
  }
}

TEST(SettingsFileTest, ReadsARegularFileUpToABound) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.write_atomically("/f.yaml", "bind-host: a\n").ok());
  const auto settings = read_settings_file("/f.yaml", files);
  ASSERT_TRUE(settings.ok()) << settings.status().to_string();
  EXPECT_EQ(settings->at("bind-host").value, "a");
  ASSERT_TRUE(files.write_atomically("/big", std::string(kSettingsFileBytesMax + 1, '#')).ok());
  ASSERT_TRUE(files.create_directories("/folder").ok());
  for (const auto& [path, why] :
       {std::pair("/big", "1048577 bytes are more than the allowed"),
        std::pair("/folder", "/folder: is no regular file"), std::pair("/none", "/none")}) {
    const Status status = read_settings_file(path, files).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(status.message(), HasSubstr(why));
  }
}

}  // namespace
}  // namespace freshet::cli
