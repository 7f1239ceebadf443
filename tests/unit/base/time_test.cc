#include "runtime/base/time.h"

#include <gtest/gtest.h>

#include <string>

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
  EXPECT_EQ(*parse_duration(" 7 s "), 7s);
}

TEST(TimeTest, ParsesExactlyWhatIsWritten) {
  EXPECT_EQ(*parse_duration("0.57 s"), 570ms);
  EXPECT_EQ(*parse_duration("9007199254740993 ns"), Duration(9'007'199'254'740'993));
  EXPECT_EQ(*parse_duration("8999999999999999999 ns"), Duration(8'999'999'999'999'999'999));
}

TEST(TimeTest, NamesWhatIsNoDuration) {
  using namespace std::string_literals;
  for (const std::string& text : {""s, "ms"s, "-1 s"s, "5 parsecs"s, "1e300 d"s, "nan"s, "inf s"s,
                                  "0x10 s"s, "\n5 s"s, "5\ts"s, "5 s\0x"s, "5 m s"s, "5 s 5"s}) {
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
