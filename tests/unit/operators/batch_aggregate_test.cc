#include "runtime/operators/batch_aggregate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/operators/sum.h"
#include "runtime/testing/operator_harness.h"
#include "state/memory_spill_space.h"

namespace freshet {
namespace {

using testing::OperatorHarness;
using testing::TestContext;

constexpr uint64_t kLeast = SpillSpace::kLeastMemoryBytes;

struct Count {
  std::string word;
  int64_t count = 0;
  bool operator==(const Count&) const = default;
};

std::shared_ptr<const KeySelector<std::string, Count>> by_word() {
  return std::make_shared<FunctionKeySelector<std::string, Count, std::string Count::*>>(
      &Count::word);
}

TestContext::Options with(SpillSpace& space) {
  TestContext::Options options;
  options.spill_space = &space;
  return options;
}

/// Everything that one operator makes of all.
template <class Out, class In>
std::vector<Out> run(const OperatorFactory& factory, SpillSpace& space,
                     const std::vector<In>& input) {
  OperatorHarness<Out> harness(factory, with(space));
  for (size_t i = 0; i < input.size();) {
    RecordBatch batch;  // Batches and single records in turns.
    for (; i < input.size() && batch.count < RecordBatch::kRecordsMax; i++) {
      batch.records[batch.count] = &input[i];
      batch.timestamps[batch.count++] = 7;
    }
    harness.operator_under_test().process_batch(0, batch);
    EXPECT_EQ(batch.begun, batch.count);
    if (i < input.size()) harness.process(input[i++], 7);
  }
  harness.end();
  return harness.take_outputs();
}

std::vector<Count> random_counts(Random& random, uint64_t words, uint64_t records,
                                 uint64_t length) {
  std::vector<Count> counts;
  for (uint64_t i = 0; i < records; i++) {
    // Half of all are of one key.
    std::string word = std::to_string(random.below(2) * random.below(words));
    word.resize(word.size() + random.below(length), 'x');
    counts.push_back({std::move(word), static_cast<int64_t>(random.below(100))});
  }
  return counts;
}

std::map<std::string, int64_t> model_of(const std::vector<Count>& counts) {
  std::map<std::string, int64_t> model;
  for (const Count& one : counts) model[one.word] += one.count;
  return model;
}

void expect_model(const std::vector<Count>& got, const std::vector<Count>& input) {
  const auto model = model_of(input);
  ASSERT_EQ(got.size(), model.size());
  for (const Count& one : got) ASSERT_EQ(model.at(one.word), one.count) << one.word;
}

TEST(ReduceOperatorTest, SpillingChangesNeitherResultsNorTheirOrder) {
  const auto random = make_seeded_random(3);
  const BatchAggregate sum = make_batch_sum(by_word(), &Count::count);
  for (int round = 0; round < 6; round++) {
    SCOPED_TRACE(round);
    const auto input = random_counts(*random, 1 + random->below(80'000), random->below(100'000),
                                     1 + random->below(60));
    MemorySpillSpace ample(1u << 30);
    MemorySpillSpace little(kLeast + random->below(kLeast), round % 2 == 0);
    const auto expected = run<Count>(*sum.alone, ample, input);
    EXPECT_EQ(ample.files(), 0u);
    EXPECT_TRUE(run<Count>(*sum.alone, little, input) == expected);
    EXPECT_TRUE(run<Count>(*sum.behind, little, input) == expected);
    expect_model(expected, input);
  }
}

/// Values that grow count, too.
TEST(ReduceOperatorTest, SpillsWhenItsValuesGrow) {
  const auto append = [](Count& so_far, const Count& one) {
    so_far.word += one.word;
    so_far.count += one.count;
  };
  const auto of_one_in_ten = [](const Count& one) { return one.count; };
  using Selector = FunctionKeySelector<int64_t, Count, decltype(of_one_in_ten)>;
  const auto selector = std::make_shared<Selector>(of_one_in_ten);
  const auto aggregate = make_batch_reduce<Partial<int64_t, Count>, int64_t, Count>(
      std::shared_ptr<const KeySelector<int64_t, Count>>(selector), append,
      KeyBesideValue<int64_t, Count>());
  std::vector<Count> input;
  for (int i = 0; i < 40'000; i++) input.push_back({std::string(100, 'y'), i % 10});
  MemorySpillSpace space(kLeast);
  const auto got = run<Count>(*aggregate.alone, space, input);
  EXPECT_GE(space.files(), 4u);
  ASSERT_EQ(got.size(), 10u);
  for (const Count& one : got) EXPECT_EQ(one.word.size(), 400'000u);
}

TEST(LocalReduceOperatorTest, GivesOneForAllOfAKeyInTheOrderOfTheFirst) {
  MemorySpillSpace space(kLeast);
  const BatchAggregate sum = make_batch_sum(by_word(), &Count::count);
  const std::vector<Count> input = {{"b", 1}, {"a", 2}, {"b", 3}, {"", 4}, {"a", 5}};
  const std::vector<Count> expected = {{"b", 4}, {"a", 7}, {"", 4}};
  EXPECT_EQ(run<Count>(*sum.before, space, input), expected);
}

TEST(LocalReduceOperatorTest, WithTheReduceBehindItGivesWhatThatGivesAlone) {
  const auto random = make_seeded_random(4);
  const BatchAggregate sum = make_batch_sum(by_word(), &Count::count);
  for (int round = 0; round < 6; round++) {
    SCOPED_TRACE(round);
    const auto input = random_counts(*random, 1 + random->below(round < 3 ? 2'000 : 60'000),
                                     random->below(80'000), 1 + random->below(30));
    MemorySpillSpace space(kLeast);
    const auto before = run<Count>(*sum.before, space, input);
    EXPECT_LE(before.size(), input.size());
    EXPECT_EQ(space.files(), 0u);
    EXPECT_TRUE(run<Count>(*sum.behind, space, before) == run<Count>(*sum.alone, space, input));
  }
}

/// Nothing is gained: then it costs next to nothing, and each record comes once.
TEST(LocalReduceOperatorTest, LetsRecordsPassThatAreAllOfDifferentKeys) {
  const BatchAggregate sum = make_batch_sum(by_word(), &Count::count);
  std::vector<Count> input;
  for (int i = 0; i < 100'000; i++) input.push_back({std::to_string(i), i});
  MemorySpillSpace space(kLeast);
  EXPECT_EQ(run<Count>(*sum.before, space, input), input);
}

/// The function's result need not have the key any more: what is exchanged brings it along.
TEST(LocalReduceOperatorTest, KeepsTheKeyBesideAValueThatLosesIt) {
  const auto add = [](const Count& a, const Count& b) { return Count{"", a.count + b.count}; };
  using Out = Partial<std::string, Count>;
  const auto aggregate = make_batch_reduce<Out, std::string, Count>(
      by_word(), add, KeyBesideValue<std::string, Count>());
  MemorySpillSpace space(kLeast);
  const std::vector<Count> input = {{"b", 1}, {"a", 2}, {"b", 3}, {"c", 4}, {"a", 5}};
  const std::vector<Count> more = {{"b", 10}, {"d", 20}};
  auto partials = run<Out>(*aggregate.before, space, input);
  ASSERT_EQ(partials.size(), 3u);
  EXPECT_EQ(partials[0].key, "b");
  for (const Out& one : run<Out>(*aggregate.before, space, more)) partials.push_back(one);
  const std::vector<Count> expected = {{"", 7}, {"", 14}, {"c", 4}, {"d", 20}};
  EXPECT_EQ(run<Count>(*aggregate.behind, space, partials), expected);
}

}  // namespace
}  // namespace freshet
