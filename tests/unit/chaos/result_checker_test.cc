#include "runtime/chaos/result_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/base/memory_file_system.h"

namespace freshet::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ResultCheckerTest : public ::testing::Test {
 protected:
  Result<OutputVerdict> run(const std::function<void(ResultCheck&)>& checker) {
    return run_checker(checker, arguments_, {{"counts", "/out/counts"}, {"rest", "/out/rest"}},
                       files_);
  }

  std::string refusal(const std::function<void(ResultCheck&)>& checker) {
    const auto verdict = run(checker);
    EXPECT_EQ(verdict.status().code(), StatusCode::kUserError);
    return verdict.status().message();
  }

  void SetUp() override {
    files_.put("/out/counts/part-0", "a 1\nb 2\n");
    files_.put("/out/counts/part-1", "c 3\n");
    files_.put("/out/rest/part-0", "");
  }

  MemoryFileSystem files_;
  std::vector<std::string> arguments_ = {"--keys", "3"};
};

TEST_F(ResultCheckerTest, AResultOfWhichNothingIsToldIsRight) {
  const auto verdict = run([](ResultCheck& check) {
    EXPECT_THAT(check.sinks(), ElementsAre("counts", "rest"));
    EXPECT_EQ(check.arguments().integer("keys", ""), 3);
    EXPECT_THAT(check.records("counts"), ElementsAre("a 1", "b 2", "c 3"));
    EXPECT_TRUE(check.records("rest").empty());
    EXPECT_EQ(check.records("counts").size(), 3u);  // Twice, and counted once.
  });
  ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
  EXPECT_TRUE(verdict->exact());
  EXPECT_EQ(verdict->summary(), "3 records, exact");
}

TEST_F(ResultCheckerTest, TellsWhatTheCheckerFound) {
  const auto verdict = run([](ResultCheck& check) {
    for (const std::string& sink : check.sinks()) (void)check.records(sink);
    check.invented("x\t1");
    check.lost("d 4");
    check.altered("a 1", "a 2");
    check.doubled("b 2");
    for (int i = 0; i < 150; i++) check.lost("many");
  });
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->summary(),
            "3 records instead of 152: 151 lost, 1 doubled, 1 altered, 1 invented");
  ASSERT_EQ(verdict->shown.size(), 103u);
  EXPECT_EQ(verdict->shown[0].to_string(), "lost: 'd 4'");
  EXPECT_EQ(verdict->shown[100].to_string(), "doubled: 'b 2', 2 copies instead of 1");
  EXPECT_EQ(verdict->shown[101].to_string(), "altered: 'a 1' instead of 'a 2'");
  EXPECT_EQ(verdict->shown[102].to_string(), "invented: 'x\\t1'");
}

TEST_F(ResultCheckerTest, NothingIsProvenByACheckerThatThrowsOrDoesNotLook) {
  EXPECT_EQ(refusal([](ResultCheck&) { throw std::runtime_error("no model"); }),
            "the checker of the job threw: no model");
  EXPECT_EQ(refusal([](ResultCheck&) { throw 7; }),
            "the checker of the job threw something that is no std::exception");
  EXPECT_THAT(refusal([](ResultCheck& check) { (void)check.records("counts"); }),
              HasSubstr("it did not look at the sink 'rest'"));
  EXPECT_THAT(refusal([](ResultCheck& check) { (void)check.records("count"); }),
              HasSubstr("no sink that leaves files is called 'count'; there are: counts, rest"));
  EXPECT_THAT(refusal([](ResultCheck& check) { (void)check.arguments().text("input", "files"); }),
              HasSubstr("option --input is missing"));
}

TEST_F(ResultCheckerTest, LeftoversAndUnreadableOutputsAreSeen) {
  const auto look = [](ResultCheck& check) {
    for (const std::string& sink : check.sinks()) (void)check.records(sink);
  };
  files_.put("/out/rest/.attempt-2/j/part-0", "");
  const auto verdict = run(look);
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->exact());
  EXPECT_THAT(verdict->leftovers, ElementsAre("/out/rest/.attempt-2"));
  ASSERT_TRUE(files_.remove_all("/out/counts").ok());
  EXPECT_THAT(refusal(look), HasSubstr("/out/counts"));
}

TEST(OutputVerdictTextTest, ComesBackAsItWas) {
  OutputVerdict verdict;
  verdict.expected_records = 5;
  verdict.actual_records = 4;
  verdict.counts[0] = 1;
  verdict.counts[3] = ~0ull;
  verdict.shown = {{.fault = RecordFault::kLost, .expected = printable("\xff'\"\t")},
                   {.fault = RecordFault::kDoubled, .actual = "a", .actual_copies = 2}};
  verdict.leftovers = {".attempt-1"};
  const auto back = parse_output_verdict(to_text(verdict));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->summary(), verdict.summary());
  EXPECT_EQ(back->shown, verdict.shown);
  EXPECT_EQ(back->leftovers, verdict.leftovers);
}

TEST(OutputVerdictTextTest, RefusesAnyOtherText) {
  for (const std::string text : {"", "{}", "[1]", "null", "{\"expected\":\"x\"}",
                                 "{\"expected\":1,\"actual\":1,\"counts\":[1],\"shown\":[],"
                                 "\"leftovers\":[]}"}) {
    EXPECT_EQ(parse_output_verdict(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace freshet::chaos
