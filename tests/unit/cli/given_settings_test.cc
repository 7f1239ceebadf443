#include "runtime/cli/given_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

SettingsOptions with_file(const std::string& path) {
  SettingsOptions options;
  options.file = path;
  return options;
}

TEST(GivenSettingsTest, ReadsOneFileOnly) {
  MemoryFileSystem files;
  EXPECT_EQ(*settings_file_of({}, std::nullopt, files), "");
  ASSERT_TRUE(files.write_atomically(kDefaultSettingsFile, "").ok());
  EXPECT_EQ(*settings_file_of({}, std::nullopt, files), "freshet.yaml");
  EXPECT_EQ(*settings_file_of({}, "", files), "freshet.yaml");
  EXPECT_EQ(*settings_file_of({}, "of-variable.yaml", files), "of-variable.yaml");
  EXPECT_EQ(*settings_file_of(with_file("of-option.yaml"), "of-variable.yaml", files),
            "of-option.yaml");
  SettingsOptions none;
  none.no_file = true;
  EXPECT_EQ(*settings_file_of(none, "of-variable.yaml", files), "");
  EXPECT_EQ(settings_file_of(with_file(""), std::nullopt, files).status().message(),
            "--config: names no file; --no-config reads none");
}

TEST(GivenSettingsTest, PrefersTheCommandLineAndSaysWhereEachIsFrom) {
  const auto given =
      merge_settings({"heartbeat.interval=3 s"},
                     {{"heartbeat.interval", {"2 s", 1}}, {"heartbeat.timeout", {"20 s", 4}}},
                     "f.yaml", is_any_setting);
  ASSERT_TRUE(given.ok()) << given.status().to_string();
  EXPECT_THAT(
      given->configuration.values(),
      UnorderedElementsAre(Pair("heartbeat.interval", "3 s"), Pair("heartbeat.timeout", "20 s")));
  EXPECT_EQ(given->origin(config::kHeartbeatInterval), "-D");
  EXPECT_EQ(given->origin(config::kHeartbeatTimeout), "f.yaml:4");
  EXPECT_EQ(given->origin(config::kDataPort), "default");
  EXPECT_EQ(merge_settings({"nothing"}, {}, "", is_any_setting).status().message(),
            "-D nothing: 'nothing' is not key=value");
}

TEST(GivenSettingsTest, LeavesOutOfAFileWhatTheCommandDoesNotRead) {
  const FileSettings all = {{"heartbeat.interval", {"2 s", 1}},
                            {"jobmanager.rpc.port", {"0", 2}},
                            {"slot.request.timeout", {"1 s", 3}},
                            {"source.file.split-size", {"1 mb", 4}}};
  const auto names = [&](SettingsFilter filter) {
    std::vector<std::string> taken;
    const auto given = merge_settings({}, all, "f.yaml", filter);
    for (const auto& [key, value] : given->configuration.values()) taken.push_back(key);
    return taken;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(is_any_setting).size(), 4u);
  EXPECT_EQ(names(is_read_by_processes),
            (Names{"heartbeat.interval", "jobmanager.rpc.port", "slot.request.timeout"}));
  EXPECT_EQ(names(is_read_by_jobs), (Names{"slot.request.timeout", "source.file.split-size"}));
  EXPECT_EQ(names(is_read_by_local_job),
            (Names{"heartbeat.interval", "slot.request.timeout", "source.file.split-size"}));
}

}  // namespace
}  // namespace freshet::cli
