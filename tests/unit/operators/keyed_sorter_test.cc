#include "runtime/operators/keyed_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/operators/keyed_process.h"
#include "runtime/testing/operator_harness.h"
#include "state/memory_spill_space.h"

namespace freshet {
namespace {

using testing::OperatorHarness;
using testing::TestContext;

struct Event {
  std::string key;
  EpochMillis time = 0;
  uint64_t number = 0;
  std::string load;
};

std::vector<Event> random_events(Random& random, uint64_t count) {
  const std::vector<EpochMillis> times = {kNoTimestamp, -5, -1, 0, 1, 255, 256, INT64_MAX};
  std::vector<Event> events;
  for (uint64_t i = 0; i < count; i++) {
    events.push_back({std::string(random.below(12), static_cast<char>('a' + random.below(3))),
                      times[random.below(times.size())], i, std::string(random.below(90), 'z')});
  }
  return events;
}

std::string encoded(const std::string& key) {
  Encoder encoder;
  Codec<std::string>::encode(key, encoder);
  return std::string(encoder.bytes());
}

std::vector<uint64_t> expected_order(std::vector<Event> events) {
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tuple(encoded(a.key), a.time) < std::tuple(encoded(b.key), b.time);
  });
  std::vector<uint64_t> numbers;
  for (const Event& event : events) numbers.push_back(event.number);
  return numbers;
}

TEST(KeyedSorterTest, OrdersByKeyAndTimeAndElseAsTheyCame) {
  const auto random = make_seeded_random(8);
  for (const uint64_t count : {0u, 1u, 100u, 60'000u}) {
    const auto events = random_events(*random, count);
    MemorySpillSpace space(SpillSpace::kLeastMemoryBytes);
    KeyedSorter<std::string, Event> sorter(space);
    for (const Event& event : events) sorter.add(event.key, event.time, event);
    while (!sorter.prepare()) {
    }
    std::vector<uint64_t> numbers;
    std::string last_key;
    while (sorter.next()) {
      const Event& event = sorter.record();
      EXPECT_EQ(event.key, sorter.key());
      EXPECT_EQ(event.time, sorter.timestamp());
      EXPECT_EQ(sorter.is_new_key(), numbers.empty() || event.key != last_key);
      last_key = event.key;
      numbers.push_back(event.number);
    }
    EXPECT_TRUE(numbers == expected_order(events));
    EXPECT_EQ(space.files() > 0, count > 1000);
  }
}

/// `key: numbers` at the end of each.
class Lists : public KeyedProcessFunction<std::string, Event, std::string> {
 public:
  void open(KeyedContext<std::string>& context) override {
    list_ = context.value_state<std::string>("list");
  }
  void process(const Event& event, KeyedContext<std::string>& context,
               Collector<std::string>& /*out*/) override {
    EXPECT_EQ(context.timestamp(), event.time);
    list_.update(list_.value_or(context.key() + ":") + " " + std::to_string(event.number));
  }
  void on_end(KeyedContext<std::string>& context, Collector<std::string>& out) override {
    EXPECT_EQ(context.timestamp(), kNoTimestamp);
    out.collect(*list_.get());
  }

 private:
  ValueState<std::string> list_;
};

std::vector<std::string> lists_of(const std::vector<Event>& events, SpillSpace* space) {
  using Op = KeyedProcessOperator<std::string, Event, std::string, Lists>;
  const auto factory = make_function_factory<Op>(KeyedProcess<std::string, Event, Lists>{
      std::make_shared<FunctionKeySelector<std::string, Event, std::string Event::*>>(&Event::key),
      Lists()});
  EXPECT_TRUE(factory->uses_spill_space());
  TestContext::Options options;
  options.spill_space = space;
  OperatorHarness<std::string> harness(*factory, options);
  for (const Event& event : events) harness.process(event, event.time);
  harness.end();
  return harness.take_outputs();
}

TEST(KeyedProcessOperatorTest, InABatchEachKeyEndsBeforeTheNextBegins) {
  const std::vector<Event> events = {{"b", 3, 1, ""}, {"a", 2, 2, ""},           {"b", 1, 3, ""},
                                     {"a", 2, 4, ""}, {"", kNoTimestamp, 5, ""}, {"b", 2, 6, ""}};
  MemorySpillSpace space(SpillSpace::kLeastMemoryBytes);
  EXPECT_EQ(lists_of(events, &space), (std::vector<std::string>{": 5", "a: 2 4", "b: 3 6 1"}));
  EXPECT_EQ(lists_of(events, nullptr), (std::vector<std::string>{": 5", "a: 2 4", "b: 1 3 6"}));
}

TEST(KeyedProcessOperatorTest, ABatchGivesWhatAStreamGivesForRecordsInOrder) {
  const auto random = make_seeded_random(9);
  auto events = random_events(*random, 40'000);
  for (uint64_t i = 0; i < events.size(); i++) events[i].time = static_cast<EpochMillis>(i);
  MemorySpillSpace space(SpillSpace::kLeastMemoryBytes);
  EXPECT_TRUE(lists_of(events, &space) == lists_of(events, nullptr));
  EXPECT_GT(space.files(), 0u);
}

}  // namespace
}  // namespace freshet
