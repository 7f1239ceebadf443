#include "runtime/app/log_follower.h"

#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

class LogFollowerTest : public ::testing::Test {
 protected:
  std::string next() { return follower_.next().value(); }

  /// As whoever logs does.
  void write(std::string_view text) {
    if (!log_) log_ = files_.create("/log").value();
    ASSERT_TRUE(log_->append(text).ok());
  }
  void rotate() {
    ASSERT_TRUE(files_.rename("/log", "/log.1").ok());
    log_.reset();
  }

  MemoryFileSystem files_;
  std::unique_ptr<WritableFile> log_;
  LogFollower follower_{"/log", files_};
};

TEST_F(LogFollowerTest, GivesTheLastLinesAndThenWhatComes) {
  write("a\nb\nc\n");
  EXPECT_EQ(follower_.tail(2).value(), "b\nc\n");
  EXPECT_EQ(next(), "");
  write("d\ne");
  EXPECT_EQ(next(), "d\n");  // The rest is not a line yet.
  write("f\n");
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
  write("a\nhalf");
  EXPECT_EQ(follower_.tail(5).value(), "a\n");
  write(" a line\n");
  EXPECT_EQ(next(), "half a line\n");
}

TEST_F(LogFollowerTest, LosesNoLineAtARotation) {
  write("a\nb\nc\n");
  EXPECT_EQ(follower_.tail(1).value(), "c\n");
  write("d\n");
  rotate();
  EXPECT_EQ(next(), "d\n");  // Of the old one, though nothing has taken its place.
  EXPECT_EQ(next(), "");
  write("n\n");
  EXPECT_EQ(next(), "n\n");
  write("o\n");
  rotate();
  write("a new one that is longer than what was read of the old one\n");
  EXPECT_EQ(next(), "o\n");
  EXPECT_EQ(next(), "a new one that is longer than what was read of the old one\n");
  rotate();
  write("s\n");  // Or shorter.
  EXPECT_EQ(next(), "s\n");
  EXPECT_EQ(next(), "");
}

TEST_F(LogFollowerTest, FindsAFileThatIsAsLongAsSoonAsItGrows) {
  write("abc\n");
  EXPECT_EQ(next(), "abc\n");
  rotate();
  write("xyz\n");
  EXPECT_EQ(next(), "");  // Nobody can know yet.
  write("w\n");
  EXPECT_EQ(next(), "xyz\nw\n");
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
