#include "runtime/base/time.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(TimeTest, ParsesWhatFlinkUsersWrite) {
  EXPECT_EQ(*parse_duration("250 ms"), 250ms);
  EXPECT_EQ(*parse_duration("10s"), 10s);
  EXPECT_EQ(*parse_duration("1 min"), 1min);
  EXPECT_EQ(*parse_duration("2 h"), 2h);
  EXPECT_EQ(*parse_duration("1.5 s"), 1500ms);
  EXPECT_EQ(*parse_duration("100"), 100ms);
  EXPECT_EQ(*parse_duration("0"), 0ms);
}

TEST(TimeTest, NamesWhatIsNoDuration) {
  for (const char* text : {"", "ms", "-1 s", "5 parsecs", "1e300 d", "nan"}) {
    EXPECT_EQ(parse_duration(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(TimeTest, FormatsWithTheLargestWholeUnit) {
  EXPECT_EQ(format_duration(25h), "25 h");
  EXPECT_EQ(format_duration(90min), "90 min");
  EXPECT_EQ(format_duration(2min), "2 min");
  EXPECT_EQ(format_duration(90s), "90 s");
  EXPECT_EQ(format_duration(1500ms), "1500 ms");
  EXPECT_EQ(format_duration(Duration(7)), "7 ns");
}

}  // namespace
}  // namespace freshet
