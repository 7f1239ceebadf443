#include "runtime/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/limited_log.h"
#include "runtime/base/line_limit.h"

namespace freshet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LogTest, WritesEventThenFieldsAndQuotesWhatIsNoWord) {
  std::vector<std::string> lines;
  log_to_sink(
      [](void* to, LogLevel, std::string_view line) {
        static_cast<std::vector<std::string>*>(to)->emplace_back(line);
      },
      &lines);
  LOG_INFO("task_failed", {{"attempt", AttemptId{JobId{}, SubtaskId{VertexId{1}, 2}, 0}},
                           {"cause", user_error("it \"broke\"\nbadly")}});
  LOG_INFO("odd", {{"word", "\x1b[31mred\r\x7f\xc3\xa9"}, {"bell", "\a"}});
  log_to_sink(nullptr, nullptr);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "task_failed attempt=1/2#0 cause=\"user_error: it 'broke'\\nbadly\"");
  EXPECT_EQ(lines[1], "odd word=\"\\x1b[31mred\\x0d\\x7f\xc3\xa9\" bell=\"\\x07\"");
}

TEST(LogTest, EvaluatesOnlyWhatIsWritten) {
  int evaluated = 0;
  log_to_stderr(LogLevel::kError);
  LOG_DEBUG("many", {{"value", ++evaluated}});
  LOG_WARN("some", {{"value", ++evaluated}});
  log_to_stderr(LogLevel::kWarn);
  EXPECT_EQ(evaluated, 0);
  EXPECT_TRUE(is_logged(LogLevel::kWarn));
  EXPECT_FALSE(is_logged(LogLevel::kInfo));
}

TEST(LogTest, KnowsTheNamesOfItsLevels) {
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(*parse_log_level("info"), LogLevel::kInfo);
  EXPECT_EQ(*parse_log_level("warn"), LogLevel::kWarn);
  EXPECT_EQ(*parse_log_level("error"), LogLevel::kError);
  EXPECT_THAT(parse_log_level("INFO").status().message(), HasSubstr("debug, info, warn, error"));
}

TEST(LineLimitTest, LeavesOutWhatIsTooMuchAndSaysHowMuchItWas) {
  LineLimit limit;
  for (unsigned i = 0; i < LineLimit::kLinesMax; ++i)
    EXPECT_EQ(limit.admit(TimePoint(1s)), std::optional<uint64_t>(0));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.admit(TimePoint(60s)), std::nullopt);
  EXPECT_EQ(limit.admit(TimePoint(61s)), std::optional<uint64_t>(5));
  EXPECT_EQ(limit.admit(TimePoint(62s)), std::optional<uint64_t>(0));
}

/// A limit of this process while it lives.
class Limit {
 public:
  Limit(decltype(RLIMIT_FSIZE) what, rlim_t value) : what_(what) {
    EXPECT_EQ(getrlimit(what_, &before_), 0);
    const rlimit now{value, before_.rlim_max};
    EXPECT_EQ(setrlimit(what_, &now), 0);
  }
  ~Limit() { EXPECT_EQ(setrlimit(what_, &before_), 0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const decltype(RLIMIT_FSIZE) what_;
  rlimit before_{};
};

/// A log in a file of its own. What the process says on standard error goes through a pipe, which
/// no limit of files concerns.
class FullLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGXFSZ, SIG_IGN);
    char name[] = "/tmp/freshet-log-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    ASSERT_TRUE(log_to_file(directory_ + "/log", LogLevel::kInfo).ok());
    ASSERT_EQ(pipe(words_), 0);
    error_ = dup(2);
    ASSERT_EQ(dup2(words_[1], 2), 2);
    close(words_[1]);
  }
  void TearDown() override {
    if (error_ >= 0) (void)words();
    log_to_stderr(LogLevel::kWarn);
    EXPECT_TRUE(make_local_file_system()->remove_all(directory_).ok());
  }

  /// All that was said on standard error.
  std::string words() {
    dup2(error_, 2);  // The last end of the pipe that is written to.
    close(error_);
    error_ = -1;
    std::string all;
    char bytes[4096];
    for (ssize_t n = 0; (n = read(words_[0], bytes, sizeof bytes)) > 0;)
      all.append(bytes, static_cast<size_t>(n));
    close(words_[0]);
    return all;
  }
  std::string lines() const {
    const auto content = make_local_file_system()->read_all(directory_ + "/log");
    return content.ok() ? *content : content.status().to_string();
  }

  std::string directory_;

 private:
  int words_[2] = {-1, -1};
  int error_ = -1;
};

TEST_F(FullLogTest, WritesLimitedWarningsOfEachEventOnly) {
  for (unsigned i = 0; i < LineLimit::kLinesMax + 3; ++i)
    log_limited_warning("connection_refused", {{"number", i}});
  log_limited_warning("another_event", {});
  LOG_WARN("connection_refused", {{"number", "the last"}});
  const std::string text = *make_local_file_system()->read_all(directory_ + "/log");
  EXPECT_THAT(text, AllOf(HasSubstr("connection_refused number=19"),
                          Not(HasSubstr("connection_refused number=20")),
                          HasSubstr("another_event"), HasSubstr("number=\"the last\"")));
}

TEST_F(FullLogTest, GoesOnAndWritesAgainWhenThereIsRoom) {
  LOG_INFO("before");
  {
    const Limit none(RLIMIT_FSIZE, 0);
    for (int i = 0; i < 5; ++i) LOG_WARN("meanwhile", {{"line", i}});
  }
  LOG_INFO("afterwards");
  EXPECT_THAT(lines(), AllOf(HasSubstr(" before\n"), HasSubstr(" afterwards\n")));
  EXPECT_THAT(words(), AllOf(HasSubstr("freshet: the log cannot be written (1 times so far): "),
                             HasSubstr("File too large"), HasSubstr("(4 times so far)"),
                             Not(HasSubstr("(3 times so far)"))));
}

TEST_F(FullLogTest, OpensTheNextFileAsSoonAsThereAreDescriptors) {
  constexpr int kLines = 63;  // Of a megabyte: the next two do not fit into one file any more.
  for (int i = 0; i < kLines; ++i) LOG_INFO("long", {{"text", std::string(1 << 20, 'x')}});
  {
    const Limit none(RLIMIT_NOFILE, 0);
    LOG_WARN("meanwhile", {{"text", std::string(2 << 20, 'x')}});
  }
  LOG_INFO("afterwards");
  EXPECT_THAT(lines(), HasSubstr(" afterwards\n"));
  EXPECT_THAT(words(), HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace freshet
