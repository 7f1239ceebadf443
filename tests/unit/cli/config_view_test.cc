#include "runtime/cli/config_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

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
      "    any text; read by processes; <mark>:<n>:<kill|stop|throw|delay>,...; only with "
      "--allow-faults\n"
      "slot.request.timeout  10 s       10 s       default\n"
      "    a duration; read by processes and jobs; longest wait of a job for its slots\n");
}

TEST(ConfigViewTest, ShowsNoControlCharacters) {
  const auto given = merge_settings({"bind-host=a\033[2J\n"}, {}, "", is_any_setting);
  EXPECT_THAT(config_text({&config::kBindHost}, *given), HasSubstr("a?[2J?  127.0.0.1  -D\n"));
}

TEST(ConfigViewTest, WritesObjectsWithFixedMembers) {
  EXPECT_EQ(
      config_json({&config::kBindHost, &config::kDataPort}, some()),
      "[\n"
      R"(  {"key": "bind-host", "value": "127.0.0.2", "default": "127.0.0.1", "type": "text", )"
      R"("values": "any text", "read_by": "processes", "meaning": )"
      R"("address that ports are bound to; beyond loopback only with )"
      R"(security.secret", "origin": "dir/f.yaml:4"},)"
      "\n"
      R"(  {"key": "taskmanager.data.port", "value": "0", "default": "0", "type": "integer", )"
      R"("values": "a whole number from 0 to 65535", "read_by": "processes", "meaning": )"
      R"("data port of a TaskManager; 0: any free one", "origin": "default"})"
      "\n]\n");
  EXPECT_THAT(config_json(config_keys(), some()), Not(HasSubstr("rain")));
}

TEST(ConfigViewTest, WritesStringsThatEveryJsonReaderTakes) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01\x7f"), "\"a\\\"b\\\\c\\u000a\\u0001\x7f\"");
  EXPECT_EQ(json_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a"),
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a\"");
  for (const std::string wrong : {"\xff", "\xc3", "\x80", "\xc0\xaf"}) {
    EXPECT_THAT(json_string(wrong), testing::StartsWith("\"\\ufffd")) << wrong;
  }
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(json_string("\xe2\x82"), "\"\\ufffd\\ufffd\"");
}

}  // namespace
}  // namespace freshet::cli
