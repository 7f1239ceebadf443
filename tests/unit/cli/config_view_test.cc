#include "runtime/cli/config_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

GivenSettings some() {
  return *merge_settings({"heartbeat.interval=3 s", "security.secret=rain"},
                         {{"bind-host", {"127.0.0.2", 4}}}, "dir/f.yaml", is_any_setting);
}

TEST(ConfigViewTest, AlignsColumnsAndExplainsEachBelow) {
  EXPECT_EQ(
      config_text({&config::kBindHost, &config::kHeartbeatInterval, &config::kSecret,
                   &config::kTestFaults, &config::kSlotTimeout},
                  some()),
      "KEY                   VALUE      DEFAULT    ORIGIN\n"
      "bind-host             127.0.0.2  127.0.0.1  dir/f.yaml:4\n"
      "    any text; read by processes; address that ports are bound to; beyond loopback only "
      "with security.secret\n"
      "heartbeat.interval    3 s        1 s        -D\n"
      "    a duration; read by processes; between two heartbeats of a TaskManager\n"
      "security.secret       (hidden)   -          -D\n"
      "    any text; read by processes and jobs; shared secret that every peer must know; also "
      "from the environment variable FRESHET_SECRET\n"
      "test.faults           -          -          default\n"
      "    any text; read by processes; [<process>/]<mark>:<n>:<kill|stop|throw|delay>,...; only "
      "with --allow-faults\n"
      "slot.request.timeout  10 s       10 s       default\n"
      "    a duration; read by processes and jobs; longest wait of a job for its slots\n");
}

TEST(ConfigViewTest, ShowsNoControlCharacters) {
  const auto given = merge_settings({"bind-host=a\033[2J\n"}, {}, "", is_any_setting);
  EXPECT_THAT(config_text({&config::kBindHost}, *given), HasSubstr("a?[2J?  127.0.0.1  -D\n"));
}

TEST(ConfigViewTest, WritesObjectsWithFixedMembers) {
  const json settings = json::parse(config_json({&config::kBindHost, &config::kDataPort}, some()));
  EXPECT_EQ(settings, (json{{{"key", "bind-host"},
                             {"value", "127.0.0.2"},
                             {"default", "127.0.0.1"},
                             {"type", "text"},
                             {"values", "any text"},
                             {"read_by", "processes"},
                             {"meaning",
                              "address that ports are bound to; beyond loopback only with "
                              "security.secret"},
                             {"origin", "dir/f.yaml:4"}},
                            {{"key", "taskmanager.data.port"},
                             {"value", "0"},
                             {"default", "0"},
                             {"type", "integer"},
                             {"values", "a whole number from 0 to 65535"},
                             {"read_by", "processes"},
                             {"meaning",
                              "data port of a TaskManager, as others are told it; 0: the one that "
                              "it binds"},
                             {"origin", "default"}}}));
  EXPECT_THAT(config_json(config_keys(), some()), Not(HasSubstr("rain")));
}

TEST(ConfigViewTest, IsJsonWhateverASettingHolds) {
  const auto given = merge_settings({"bind-host=a\"b\\c\n\x01\xff"}, {}, "", is_any_setting);
  const json settings = json::parse(config_json({&config::kBindHost}, *given));
  EXPECT_EQ(settings[0]["value"], "a\"b\\c\n\x01\xef\xbf\xbd");
}

}  // namespace
}  // namespace freshet::cli
