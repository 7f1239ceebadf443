#include "tests/sim/sim_event_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet::sim {
namespace {

TimePoint at(Duration time) { return TimePoint(time); }

TEST(SimEventQueueTest, RunsByTimeAndThenInTheOrderOfAdding) {
  SimEventQueue queue(1);
  std::string order;
  queue.add(at(2ms), 1, "c", [&] { order += 'c'; });
  queue.add(at(1ms), 1, "a", [&] { order += 'a'; });
  queue.add(at(1ms), 2, "b", [&] { order += 'b'; });
  while (queue.run_one()) {
  }
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(queue.now(), at(2ms));
}

TEST(SimEventQueueTest, NeverGoesBackWhenAnEventIsAddedForThePast) {
  SimEventQueue queue(1);
  TimePoint ran{};
  queue.add(at(5ms), 1, "outer",
            [&] { queue.add(at(1ms), 1, "inner", [&] { ran = queue.now(); }); });
  while (queue.run_one()) {
  }
  EXPECT_EQ(ran, at(5ms));
}

TEST(SimEventQueueTest, DestroysCancelledEventsUnrun) {
  SimEventQueue queue(1);
  auto held = std::make_shared<int>(0);
  const EventId id = queue.add(at(1ms), 1, "event", [held] { ++*held; });
  queue.cancel(id);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(queue.run_one());
  EXPECT_EQ(*held, 0);
}

TEST(SimEventQueueTest, StopsAtTheLimitWhenTheConditionDoesNotCome) {
  SimEventQueue queue(1);
  int ran = 0;
  for (int i = 1; i <= 10; ++i) queue.add(at(i * 1ms), 1, "tick", [&] { ++ran; });
  EXPECT_FALSE(queue.run_until([&] { return ran == 10; }, 4ms));
  EXPECT_EQ(ran, 4);
  EXPECT_TRUE(queue.run_until([&] { return ran == 10; }, 1s));
}

uint64_t hash_of_run(uint64_t seed, bool one_more_note) {
  SimEventQueue queue(seed);
  for (int i = 0; i < 20; ++i) {
    queue.add(at(Duration(queue.random().below(1000))), i, "event", [] {});
  }
  if (one_more_note) queue.note("fact");
  while (queue.run_one()) {
  }
  return queue.trace_hash();
}

TEST(SimEventQueueTest, HashesEqualRunsEquallyAndOthersNot) {
  EXPECT_EQ(hash_of_run(7, false), hash_of_run(7, false));
  EXPECT_NE(hash_of_run(7, false), hash_of_run(8, false));
  EXPECT_NE(hash_of_run(7, false), hash_of_run(7, true));
}

}  // namespace
}  // namespace freshet::sim
