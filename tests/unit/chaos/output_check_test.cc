#include "runtime/chaos/output_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "runtime/chaos/output_lines.h"

namespace freshet::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OutputVerdict compared(MemoryFileSystem& files, const OutputCheckOptions& options = {}) {
  const auto verdict = compare_outputs("/expected", "/actual", files, options);
  EXPECT_TRUE(verdict.ok()) << verdict.status().to_string();
  return verdict.ok() ? *verdict : OutputVerdict();
}

std::vector<std::string> shown(const OutputVerdict& verdict) {
  std::vector<std::string> texts;
  for (const WrongRecord& record : verdict.shown) texts.push_back(record.to_string());
  return texts;
}

TEST(OutputCheckTest, FilesAndOrderDoNotMatter) {
  MemoryFileSystem files;
  files.put("/expected/part-0", "a 1\nb 2\na 1\n");
  files.put("/expected/part-1", "");
  files.put("/actual/part-0", "a 1\n");
  files.put("/actual/part-7", "b 2\n");
  files.put("/actual/part-9", "a 1\n");
  const OutputVerdict verdict = compared(files);
  EXPECT_TRUE(verdict.exact());
  EXPECT_EQ(verdict.expected_records, 3u);
  EXPECT_EQ(verdict.summary(), "3 records, exact");
  EXPECT_THAT(verdict.shown, IsEmpty());
}

TEST(OutputCheckTest, NamesWhatIsWrong) {
  MemoryFileSystem files;
  files.put("/expected/part-0", "a\t1\nb\t2\nc\t3\nd\t4\nd\t4\n");
  files.put("/actual/part-0", "a\t1\na\t1\nc\t5\n");
  files.put("/actual/part-1", "d\t4\n\x01\t9\n");
  const OutputVerdict verdict = compared(files);
  EXPECT_FALSE(verdict.exact());
  EXPECT_EQ(verdict.summary(), "5 records: 2 lost, 1 doubled, 1 altered, 1 invented");
  EXPECT_THAT(shown(verdict),
              ElementsAre("lost: 'b\\t2' (part-0:2)", "lost: 'd\\t4' (part-0:4), 1 of 2 copies",
                          "doubled: 'a\\t1' (part-0:1), 2 copies instead of 1",
                          "altered: 'c\\t5' (part-0:3) instead of 'c\\t3' (part-0:3)",
                          "invented: '\\x01\\t9' (part-1:2)"));
}

TEST(OutputCheckTest, AFileThatWasCutHasAnotherLastRecord) {
  MemoryFileSystem files;
  files.put("/expected/part-0", "a 1\nb 2\n");
  files.put("/actual/part-0", "a 1\nb 2");
  EXPECT_THAT(
      shown(compared(files)),
      ElementsAre("altered: 'b 2 (without line end)' (part-0:2) instead of 'b 2' (part-0:2)"));
}

TEST(OutputCheckTest, ShowsTheFirstHundredOfEachKindAndCountsAll) {
  MemoryFileSystem files;
  std::string expected, actual;
  for (int i = 0; i < 1000; i++) {
    expected += "lost" + std::to_string(i) + "\n" + std::to_string(i) + " old\n";
    actual += std::to_string(i) + " new\ninvented" + std::to_string(i) + "\n";
  }
  files.put("/expected/part-0", expected);
  files.put("/actual/part-0", actual);
  for (const size_t in_memory : {size_t{1'000'000}, size_t{100}}) {
    const OutputVerdict verdict = compared(files, {.records_in_memory = in_memory});
    EXPECT_EQ(verdict.count(RecordFault::kLost), 1000u);
    EXPECT_EQ(verdict.count(RecordFault::kAltered), 1000u);
    EXPECT_EQ(verdict.count(RecordFault::kInvented), 1000u);
    ASSERT_EQ(verdict.shown.size(), 300u);
    EXPECT_EQ(verdict.shown[0].to_string(), "lost: 'lost0' (part-0:1)");
    EXPECT_EQ(verdict.shown[199].to_string(),
              "altered: '99 new' (part-0:199) instead of '99 old' (part-0:200)");
    EXPECT_EQ(verdict.shown[299].to_string(), "invented: 'invented99' (part-0:200)");
  }
}

TEST(OutputCheckTest, LeftoversAreFindingsOfTheirOwn) {
  MemoryFileSystem files;
  files.put("/expected/part-0", "a\n");
  files.put("/actual/part-0", "a\n");
  files.put("/actual/.attempt-2/job/part-0", "a\n");
  const OutputVerdict verdict = compared(files);
  EXPECT_FALSE(verdict.exact());
  EXPECT_THAT(verdict.leftovers, ElementsAre(".attempt-2"));
  EXPECT_EQ(verdict.summary(), "1 records: 1 files left behind, such as .attempt-2");
}

TEST(OutputCheckTest, NamesADirectoryThatCannotBeRead) {
  MemoryFileSystem files;
  files.put("/expected/part-0", "a\n");
  const auto missing = compare_outputs("/expected", "/actual", files);
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("/actual"));
  EXPECT_THAT(compare_outputs("/none", "/expected", files).status().message(), HasSubstr("/none"));
}

/// What must be found, by definition.
struct Model {
  uint64_t counts[4] = {};
  std::multiset<std::string> missing;     // All copies.
  std::multiset<std::string> unexpected;  // Of records that are not expected at all.
  std::set<std::string> doubled;
};

Model naive(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> copies, ids;
  for (const std::string& record : expected) copies[record].first++;
  for (const std::string& record : actual) copies[record].second++;
  Model model;
  for (const auto& [record, sides] : copies) {
    auto& id = ids[std::string(id_of(record))];
    for (uint64_t i = sides.second; i < sides.first; i++) model.missing.insert(record), id.first++;
    if (sides.second <= sides.first) continue;
    if (sides.first > 0) {
      model.counts[static_cast<size_t>(RecordFault::kDoubled)] += sides.second - sides.first;
      model.doubled.insert(record);
      continue;
    }
    for (uint64_t i = 0; i < sides.second; i++) model.unexpected.insert(record), id.second++;
  }
  for (const auto& [id, sides] : ids) {
    const uint64_t altered = std::min(sides.first, sides.second);
    model.counts[static_cast<size_t>(RecordFault::kAltered)] += altered;
    model.counts[static_cast<size_t>(RecordFault::kLost)] += sides.first - altered;
    model.counts[static_cast<size_t>(RecordFault::kInvented)] += sides.second - altered;
  }
  return model;
}

std::string random_record(Random& random) {
  std::string record = std::to_string(random.below(40));
  if (random.one_in(20)) return record;
  record += "\t ,"[random.below(3)];
  if (random.one_in(10)) record += std::string(1, static_cast<char>(random.below(256)));
  std::erase(record, '\n');
  return record + std::to_string(random.below(4));
}

void put_in_files(MemoryFileSystem& files, const std::string& directory,
                  const std::vector<std::string>& records, Random& random) {
  std::map<uint64_t, std::string> parts = {{0, ""}};
  for (const std::string& record : records) parts[random.below(3)] += record + "\n";
  for (const auto& [number, content] : parts)
    files.put(directory + "/part-" + std::to_string(number), content);
}

/// A tab is shown as two characters.
std::string shown_id(const std::string& record) {
  return record.substr(0, record.find_first_of("\\ ,"));
}

/// Each record that is shown is one that is wrong in this way, where it says.
void expect_shown_is_true(const OutputVerdict& verdict, const Model& model) {
  for (const WrongRecord& record : verdict.shown) {
    const auto in = [](const auto& texts, const std::string& text) {
      return std::any_of(texts.begin(), texts.end(),
                         [&](const std::string& one) { return printable(one) == text; });
    };
    const bool altered = record.fault == RecordFault::kAltered;
    const bool missing = altered || record.fault == RecordFault::kLost;
    const bool unexpected = altered || record.fault == RecordFault::kInvented;
    const bool doubled = record.fault == RecordFault::kDoubled;
    const std::string text = record.to_string();
    EXPECT_TRUE(!missing || in(model.missing, record.expected)) << text;
    EXPECT_TRUE(!unexpected || in(model.unexpected, record.actual)) << text;
    EXPECT_TRUE(!doubled || in(model.doubled, record.actual)) << text;
    EXPECT_TRUE(!altered || shown_id(record.expected) == shown_id(record.actual)) << text;
  }
}

TEST(OutputCheckTest, FindsWhatAComparisonOfMultisetsFinds) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    SCOPED_TRACE(seed);
    const auto random = make_seeded_random(seed);
    std::vector<std::string> expected, actual;
    for (uint64_t i = random->below(300); i > 0; i--) expected.push_back(random_record(*random));
    for (const std::string& record : expected) {
      if (random->one_in(20)) continue;
      actual.push_back(random->one_in(20) ? random_record(*random) : record);
      if (random->one_in(20)) actual.push_back(record);
    }
    MemoryFileSystem files;
    put_in_files(files, "/expected", expected, *random);
    put_in_files(files, "/actual", actual, *random);
    const Model model = naive(expected, actual);
    // Few records in memory: their ids are not divided as long as memory holds all of one.
    for (const size_t in_memory : {size_t{1'000}, size_t{60}}) {
      const OutputVerdict verdict = compared(files, {.records_in_memory = in_memory});
      EXPECT_EQ(verdict.expected_records, expected.size());
      EXPECT_EQ(verdict.actual_records, actual.size());
      for (const RecordFault fault : kRecordFaults)
        EXPECT_EQ(verdict.count(fault), model.counts[static_cast<size_t>(fault)])
            << to_string(fault);
      expect_shown_is_true(verdict, model);
    }
  }
}

TEST(OutputCheckTest, WithoutMemoryForAllRecordsOfAnIdNoneIsMissed) {
  MemoryFileSystem files;
  std::string expected, actual;
  for (int i = 0; i < 200; i++) {
    expected += "same " + std::to_string(i) + "\n";
    if (i != 77) actual += "same " + std::to_string(i) + "\n";
  }
  files.put("/expected/part-0", expected);
  files.put("/actual/part-0", actual + "same 3\nsame x\n");
  const OutputVerdict verdict = compared(files, {.records_in_memory = 20});
  EXPECT_EQ(verdict.count(RecordFault::kDoubled), 1u);
  EXPECT_EQ(verdict.count(RecordFault::kLost) + verdict.count(RecordFault::kAltered), 1u);
  EXPECT_EQ(verdict.count(RecordFault::kInvented) + verdict.count(RecordFault::kAltered), 1u);
}

}  // namespace
}  // namespace freshet::chaos
