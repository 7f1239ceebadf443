#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/memory_file_system.h"
#include "runtime/connectors/elements.h"
#include "runtime/connectors/sequence.h"
#include "tests/unit/connectors/connector_harness.h"

namespace freshet {
namespace {

template <class T>
std::vector<T> run_source(const Source<T>& source, uint32_t readers, uint64_t seed) {
  MemoryFileSystem files;
  FakeContext context(files);
  const auto random = make_seeded_random(seed);
  SourceRun<T> run(source, context, readers, *random);
  EXPECT_TRUE(run.run(50));
  EXPECT_FALSE(run.emitted_too_many());
  return run.values();
}

TEST(SequenceTest, GivesEachNumberOnceToSomeReader) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    auto values = run_source(sequence(-100, 899), 1 + seed % 4, seed);
    std::sort(values.begin(), values.end());
    std::vector<int64_t> wanted(1000);
    std::iota(wanted.begin(), wanted.end(), -100);
    EXPECT_EQ(values, wanted);
  }
}

TEST(SequenceTest, KnowsItsBounds) {
  EXPECT_TRUE(run_source(sequence(5, 4), 2, 1).empty());
  EXPECT_EQ(run_source(sequence(5, 5), 2, 1), std::vector<int64_t>{5});
  EXPECT_EQ(run_source(sequence(INT64_MAX - 1, INT64_MAX), 1, 1),
            (std::vector<int64_t>{INT64_MAX - 1, INT64_MAX}));
}

TEST(SequenceTest, CutsTheWholeRangeOfNumbersWithoutGap) {
  const auto supply = make_range_supply(NumberRange{0, UINT64_MAX});
  uint64_t next = 0;
  for (int i = 0; i < 1000; i++) {
    const auto payload = supply->next();
    ASSERT_TRUE(payload);
    const NumberRange range = decode_range(*payload);
    EXPECT_EQ(range.first, next);
    next = range.last + 1;
  }
}

TEST(ElementsTest, GivesValuesInOrder) {
  const std::vector<std::string> values = {"to", "be", "or", "not", "to", "be"};
  const Source<std::string> source = elements(values);
  EXPECT_EQ(source.parallelism_max, 1u);
  EXPECT_TRUE(source.bounded);
  EXPECT_EQ(run_source(source, 1, 3), values);
  EXPECT_TRUE(run_source(elements(std::vector<std::string>()), 1, 3).empty());
}

TEST(SplitReaderTest, TakesNoInputWhileItReads) {
  MemoryFileSystem files;
  FakeContext context(files);
  Received<int64_t> numbers;
  Received<SplitRequest> requests;
  const Source<int64_t> source = sequence(0, 1);
  const auto made = source.reader->make();
  auto& reader = dynamic_cast<SourceOperator&>(*made);
  reader.open(context, {&numbers, &requests});
  EXPECT_EQ(reader.poll(1), PollResult::kWaiting);
  EXPECT_EQ(reader.poll(1), PollResult::kWaiting);
  EXPECT_EQ(requests.values.size(), 1u);
  EXPECT_TRUE(reader.wants_input());
  const Split split{0, encode_range({0, 1})};
  reader.process(0, &split, kNoTimestamp);
  EXPECT_FALSE(reader.wants_input());
  EXPECT_EQ(reader.poll(1), PollResult::kMore);
  EXPECT_EQ(reader.poll(1), PollResult::kWaiting);
  EXPECT_EQ(requests.values.size(), 2u);
  EXPECT_TRUE(reader.wants_input());
  reader.end_input(0);
  EXPECT_EQ(reader.poll(1), PollResult::kEnded);
  EXPECT_EQ(requests.values.size(), 2u);
  EXPECT_EQ(numbers.timestamps, std::vector<EpochMillis>(2, kNoTimestamp));
}

}  // namespace
}  // namespace freshet
