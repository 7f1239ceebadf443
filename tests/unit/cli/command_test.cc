#include "runtime/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

using testing::HasSubstr;

Configuration with(const ConfigKey& key, const std::string& value) {
  Configuration configuration;
  EXPECT_TRUE(configuration.set(std::string(key.name), value).ok());
  return configuration;
}

TEST(SettingsTest, ChecksNamesAndValuesWhoeverReadsThem) {
  EXPECT_TRUE(parse_settings({"restart-strategy.type=none", "heartbeat.interval=2 s"}).ok());
  for (const std::string pair : {"restart-strategy.type=foo", "heartbeat.interval=soon",
                                 "taskmanager.numberOfTaskSlots=0", "no.such.name=1", "nothing"}) {
    EXPECT_EQ(parse_settings({pair}).status().code(), StatusCode::kInvalidArgument) << pair;
  }
  EXPECT_THAT(parse_settings({"restart-strategy.type=foo"}).status().message(),
              HasSubstr("restart-strategy.type: 'foo' is not none, fixed-delay"));
}

TEST(SettingsTest, RefusesASettingWhereNobodyReadsIt) {
  for (const ConfigKey* key : config_keys()) {
    const Configuration one = with(*key, std::string(key->default_value));
    const Status of_job = refuse_settings_of_jobs(one);
    const Status of_process = refuse_settings_of_processes(one);
    EXPECT_EQ(of_job.ok(), key->scope != ConfigScope::kJob) << key->name;
    EXPECT_EQ(of_process.ok(), key->scope != ConfigScope::kProcess) << key->name;
    for (const Status& refused : {of_job, of_process}) {
      if (refused.ok()) continue;
      EXPECT_THAT(refused.message(), HasSubstr(std::string(key->name)));
    }
  }
  EXPECT_THAT(refuse_settings_of_processes(with(config::kWorkerThreads, "2")).message(),
              HasSubstr("'freshet cluster start'"));
  EXPECT_THAT(refuse_settings_of_jobs(with(config::kSplitBytes, "2")).message(),
              HasSubstr("'freshet run'"));
}

TEST(SettingsTest, BoundsAnOptionByItsSetting) {
  EXPECT_EQ(*parse_number("--slots", "65536", config::kTaskSlots), 65'536u);
  EXPECT_EQ(parse_number("--slots", "65537", config::kTaskSlots).status().message(),
            "--slots: '65537' is not a whole number from 1 to 65536");
  EXPECT_EQ(parse_number("--port", "65536", config::kRpcPort).status().message(),
            "--port: '65536' is not a whole number from 0 to 65535");
}

/// All of `freshet`.
class EveryCommandTest : public ::testing::Test {
 protected:
  EveryCommandTest() {
    add_run_command(parser_, invocation_, commands_);
    add_info_command(parser_, invocation_, commands_);
    add_build_command(parser_, invocation_, commands_);
    add_job_commands(parser_, commands_);
    add_fail_command(parser_, commands_);
    add_cluster_commands(parser_, commands_);
    add_config_command(parser_, commands_);
    add_process_commands(parser_, commands_);
    add_completion_command(parser_, invocation_, commands_);
  }

  /// Those that are shown, not the groups that they are in.
  std::vector<const CLI::App*> visible() const {
    std::vector<const CLI::App*> shown;
    for (const Command& command : commands_) {
      if (!command.parser->get_group().empty()) shown.push_back(command.parser);
    }
    return shown;
  }

  CLI::App parser_{"", "freshet"};
  const Invocation invocation_;
  std::vector<Command> commands_;
};

TEST_F(EveryCommandTest, HasUsageAndExamplesOfItsOwn) {
  for (const CLI::App* command : visible()) {
    const bool of_cluster = command->get_parent()->get_name() == "cluster";
    const std::string name = (of_cluster ? "freshet cluster " : "freshet ") + command->get_name();
    EXPECT_THAT(command->help(), HasSubstr("Usage: ")) << name;
    ASSERT_THAT(command->get_footer(), HasSubstr("\n  ")) << name;
    EXPECT_THAT(command->get_footer(), HasSubstr(name)) << name;
  }
  EXPECT_GE(visible().size(), 16u);
}

TEST_F(EveryCommandTest, CanSpeakJson) {
  for (const CLI::App* command : visible()) {
    if (command->get_name() == "completion") continue;  // What it prints is for a shell.
    EXPECT_NE(command->get_option_no_throw("--json"), nullptr) << command->get_name();
  }
}

}  // namespace
}  // namespace freshet::cli
