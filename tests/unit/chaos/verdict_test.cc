#include "runtime/chaos/verdict.h"

#include <gtest/gtest.h>

namespace freshet::chaos {
namespace {

TEST(PrintableTest, ShowsWhatHasNoPictureAndWhatIsNoText) {
  EXPECT_EQ(printable("plain, with spaces"), "plain, with spaces");
  EXPECT_EQ(printable(std::string_view("a\tb\nc\rd\\e\0f\x1b[2J", 14)),
            "a\\tb\\nc\\rd\\\\e\\x00f\\x1b[2");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("gr\xc3\xbc \xff"), "gr\\xc3\\xbc \\xff");
}

TEST(PrintableTest, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc... (6 bytes)");
  EXPECT_EQ(printable("ab\xc3\xbc", 3), "ab... (4 bytes)");
  EXPECT_EQ(printable(std::string("ab\xbf\xbf\xbf\xbf"), 3), "ab\\xbf... (6 bytes)");
  EXPECT_EQ(printable("abc", 3), "abc");
}

TEST(WrongRecordTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ((WrongRecord{
                .fault = RecordFault::kLost, .expected = "x\\t1", .expected_place = {"part-0", 3}}
                 .to_string()),
            "lost: 'x\\t1' (part-0:3)");
  EXPECT_EQ((WrongRecord{.fault = RecordFault::kLost,
                         .expected = "x",
                         .expected_place = {"p", 3},
                         .expected_copies = 5,
                         .actual_copies = 3}
                 .to_string()),
            "lost: 'x' (p:3), 2 of 5 copies");
  EXPECT_EQ((WrongRecord{.fault = RecordFault::kDoubled,
                         .actual = "x",
                         .actual_place = {"p", 1},
                         .expected_copies = 1,
                         .actual_copies = 3}
                 .to_string()),
            "doubled: 'x' (p:1), 3 copies instead of 1");
  EXPECT_EQ((WrongRecord{.fault = RecordFault::kAltered,
                         .expected = "x 1",
                         .expected_place = {"p", 1},
                         .actual = "x 2",
                         .actual_place = {"q", 2}}
                 .to_string()),
            "altered: 'x 2' (q:2) instead of 'x 1' (p:1)");
  EXPECT_EQ((WrongRecord{.fault = RecordFault::kInvented, .actual = "x"}.to_string()),
            "invented: 'x'");
}

TEST(OutputVerdictTest, SumsUp) {
  OutputVerdict verdict;
  verdict.expected_records = verdict.actual_records = 10;
  EXPECT_TRUE(verdict.exact());
  EXPECT_EQ(verdict.summary(), "10 records, exact");
  verdict.counts[static_cast<size_t>(RecordFault::kAltered)] = 2;
  EXPECT_FALSE(verdict.exact());
  EXPECT_EQ(verdict.summary(), "10 records: 2 altered");
  verdict.actual_records = 9;
  verdict.counts[static_cast<size_t>(RecordFault::kLost)] = 1;
  verdict.leftovers = {".attempt-1"};
  EXPECT_EQ(verdict.summary(),
            "9 records instead of 10: 1 lost, 2 altered, 1 files left behind, such as .attempt-1");
  Verdict all{.judge = "the undisturbed run", .outputs = {OutputVerdict(), verdict}};
  EXPECT_FALSE(all.exact());
  all.outputs.pop_back();
  EXPECT_TRUE(all.exact());
}

TEST(OutputVerdictTest, LeftoversAloneAreNotExact) {
  OutputVerdict verdict;
  verdict.leftovers = {".attempt-1"};
  EXPECT_FALSE(verdict.exact());
}

}  // namespace
}  // namespace freshet::chaos
