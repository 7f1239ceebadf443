#include "runtime/base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet {
namespace {

TEST(LogTest, WritesEventThenFieldsAndQuotesSpaces) {
  std::vector<std::string> lines;
  log_to_sink(
      [](void* to, LogLevel, std::string_view line) {
        static_cast<std::vector<std::string>*>(to)->emplace_back(line);
      },
      &lines);
  LOG_INFO("task_failed", {{"attempt", AttemptId{JobId{}, SubtaskId{VertexId{1}, 2}, 0}},
                           {"cause", user_error("it \"broke\"\nbadly")}});
  log_to_sink(nullptr, nullptr);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "task_failed attempt=1/2#0 cause=\"user_error: it 'broke'\\nbadly\"");
}

}  // namespace
}  // namespace freshet
