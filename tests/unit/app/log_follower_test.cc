#include "runtime/app/log_follower.h"

#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

class LogFollowerTest : public ::testing::Test {
 protected:
  std::string next() { return follower_.next().value(); }

  MemoryFileSystem files_;
  LogFollower follower_{"/log", files_};
};

TEST_F(LogFollowerTest, GivesTheLastLinesAndThenWhatComes) {
  files_.put("/log", "a\nb\nc\n");
  EXPECT_EQ(follower_.tail(2).value(), "b\nc\n");
  EXPECT_EQ(next(), "");
  files_.put("/log", "a\nb\nc\nd\ne");
  EXPECT_EQ(next(), "d\n");  // The rest is not a line yet.
  files_.put("/log", "a\nb\nc\nd\nef\n");
  EXPECT_EQ(next(), "ef\n");
}

TEST_F(LogFollowerTest, GivesAllWhenThereIsLessAndNothingWhenNothingIsAskedFor) {
  files_.put("/log", "\nb\n");
  EXPECT_EQ(follower_.tail(10).value(), "\nb\n");
  EXPECT_EQ(LogFollower("/log", files_).tail(2).value(), "\nb\n");
  EXPECT_EQ(LogFollower("/log", files_).tail(1).value(), "b\n");
  EXPECT_EQ(LogFollower("/log", files_).tail(0).value(), "");
}

TEST_F(LogFollowerTest, KeepsALineThatIsBeingWrittenForLater) {
  files_.put("/log", "a\nhalf");
  EXPECT_EQ(follower_.tail(5).value(), "a\n");
  files_.put("/log", "a\nhalf a line\n");
  EXPECT_EQ(next(), "half a line\n");
}

TEST_F(LogFollowerTest, GoesOnBehindARotation) {
  files_.put("/log", "a\nb\nc\n");
  EXPECT_EQ(follower_.tail(1).value(), "c\n");
  ASSERT_TRUE(files_.remove("/log").ok());
  EXPECT_EQ(next(), "");
  files_.put("/log", "new\n");
  EXPECT_EQ(next(), "new\n");
  files_.put("/log", "n\n");  // Shorter: another one.
  EXPECT_EQ(next(), "n\n");
}

TEST_F(LogFollowerTest, ALogThatIsNotThereIsNotFoundAndMayCome) {
  EXPECT_EQ(follower_.tail(3).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(next(), "");
  files_.put("/log", "first\n");
  EXPECT_EQ(next(), "first\n");
}

TEST_F(LogFollowerTest, GivesMuchInPieces) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i) + "\n";
  files_.put("/log", text);
  std::string heard;
  for (std::string part = next(); !part.empty(); part = next()) heard += part;
  EXPECT_EQ(heard, text);
  files_.put("/line", std::string(3u << 20, 'x'));  // Without an end.
  EXPECT_EQ(LogFollower("/line", files_).next().value().size(), 1u << 20);
}

}  // namespace
}  // namespace freshet
