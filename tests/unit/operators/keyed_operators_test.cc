#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include "runtime/base/random.h"
#include "runtime/operators/keyed_process.h"
#include "runtime/operators/reduce.h"
#include "runtime/testing/operator_verification.h"

namespace freshet {
namespace {

using testing::OperatorHarness;
using testing::verify_operator;

struct Count {
  std::string word;
  int64_t count = 0;
  bool operator==(const Count&) const = default;
};

std::shared_ptr<const KeySelector<std::string, Count>> by_word() {
  return std::make_shared<FunctionKeySelector<std::string, Count, std::string Count::*>>(
      &Count::word);
}

struct InPlace {
  void operator()(Count& so_far, const Count& record) const { so_far.count += record.count; }
};
struct ByValue {
  Count operator()(const Count& so_far, const Count& record) const {
    return {so_far.word, so_far.count + record.count};
  }
};

template <class F>
std::shared_ptr<const OperatorFactory> summing(Emit emit) {
  return make_reduce_factory<std::string, Count, F>({by_word(), F(), emit});
}

const std::vector<Count> kInput = {{"b", 1}, {"a", 2}, {"b", 3}, {"", 4}, {"a", 5}};

TEST(ReduceOperatorTest, EmitsEveryNewValue) {
  const std::vector<Count> expected = {{"b", 1}, {"a", 2}, {"b", 4}, {"", 4}, {"a", 7}};
  EXPECT_EQ((*verify_operator<Count, Count>(*summing<InPlace>(Emit::updates), kInput)), expected);
  EXPECT_EQ((*verify_operator<Count, Count>(*summing<ByValue>(Emit::updates), kInput)), expected);
}

TEST(ReduceOperatorTest, EmitsFinalValuesInSerialisedKeyOrder) {
  const std::vector<Count> expected = {{"", 4}, {"a", 7}, {"b", 4}};
  EXPECT_EQ((*verify_operator<Count, Count>(*summing<InPlace>(Emit::final), kInput)), expected);
  EXPECT_EQ((*verify_operator<Count, Count>(*summing<ByValue>(Emit::final), kInput)), expected);
}

TEST(ReduceOperatorTest, EmitsFinalValuesInBoundedBatches) {
  const auto factory = summing<InPlace>(Emit::final);
  OperatorHarness<Count> harness(*factory);
  const uint32_t keys = 3 * kFinishBatch + 1;
  for (uint32_t i = 0; i < keys; i++) harness.process(Count{std::to_string(i), 1});
  harness.end_input();
  uint32_t emitted = 0, calls = 0;
  bool done = false;
  while (!done) {
    done = harness.finish_some();
    const auto batch = static_cast<uint32_t>(harness.take_outputs().size());
    EXPECT_LE(batch, kFinishBatch);
    emitted += batch;
    calls++;
  }
  EXPECT_EQ(emitted, keys);
  EXPECT_EQ(calls, 4u);
}

TEST(ReduceOperatorTest, EqualsAMapOnRandomInput) {
  const auto random = make_seeded_random(9);
  std::vector<Count> input;
  std::map<std::string, int64_t> model;
  for (int i = 0; i < 20'000; i++) {
    const std::string word(random->below(30), static_cast<char>('a' + random->below(26)));
    input.push_back({word, static_cast<int64_t>(random->below(100))});
    model[word] += input.back().count;
  }
  const auto outputs = verify_operator<Count, Count>(*summing<InPlace>(Emit::final), input);
  ASSERT_EQ(outputs->size(), model.size());
  for (const Count& one : *outputs) EXPECT_EQ(model.at(one.word), one.count);
}

/// A function of three records fails, or finds no key.
struct Picky {
  Count operator()(const Count& so_far, const Count& record) const {
    if (record.count == 3) throw std::runtime_error("three");
    return {so_far.word, so_far.count + record.count};
  }
};

TEST(ReduceOperatorTest, SaysWhichRecordOfABatchFailed) {
  const auto key_of = [](const Count& record) {
    if (record.count == 4) throw std::runtime_error("no key");
    return record.word;
  };
  using Selector = FunctionKeySelector<std::string, Count, decltype(key_of)>;
  const auto factory = make_reduce_factory<std::string, Count, Picky>(
      {std::make_shared<Selector>(key_of), Picky(), Emit::updates});
  for (const auto& [input, begun] :
       {std::pair(std::vector<Count>{{"a", 1}, {"a", 2}, {"a", 3}, {"a", 5}}, 3u),
        std::pair(std::vector<Count>{{"a", 1}, {"a", 4}, {"a", 5}}, 2u)}) {
    OperatorHarness<Count> harness(*factory);
    RecordBatch batch;
    for (const Count& record : input) {
      batch.records[batch.count] = &record;
      batch.timestamps[batch.count++] = 1;
    }
    EXPECT_THROW(harness.operator_under_test().process_batch(0, batch), std::runtime_error);
    EXPECT_EQ(batch.begun, begun);
    EXPECT_EQ(harness.take_outputs().size(), begun - 1);
  }
}

/// Counts records per key; at the end says how many, unless there were three.
class Counting : public KeyedProcessFunction<std::string, Count, std::string> {
 public:
  void open(KeyedContext<std::string>& context) override {
    seen_ = context.value_state<int64_t>("seen");
  }
  void process(const Count& record, KeyedContext<std::string>& context,
               Collector<std::string>& out) override {
    EXPECT_EQ(context.key(), record.word);
    seen_.update(seen_.value_or(0) + 1);
    if (*seen_.get() == 3) {
      seen_.clear();
      out.collect("three of " + context.key());
    }
  }
  void on_end(KeyedContext<std::string>& context, Collector<std::string>& out) override {
    out.collect(context.key() + " " + std::to_string(*seen_.get()));
  }

 private:
  ValueState<int64_t> seen_;
};

TEST(KeyedProcessOperatorTest, KeepsStateByKeyAndEndsOncePerKeyWithState) {
  using Op = KeyedProcessOperator<std::string, Count, std::string, Counting>;
  const auto factory =
      make_function_factory<Op>(KeyedProcess<std::string, Count, Counting>{by_word(), Counting()});
  const std::vector<Count> input = {{"b"}, {"c"}, {"c"}, {"a"}, {"c"}, {"b"}};
  EXPECT_EQ((*verify_operator<Count, std::string>(*factory, input)),
            (std::vector<std::string>{"three of c", "a 1", "b 2"}));
}

}  // namespace
}  // namespace freshet
