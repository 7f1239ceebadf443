#include "runtime/task/task_times.h"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"

namespace freshet {
namespace {

using Kind = TaskTimes::Kind;

TimePoint at(Duration time) { return TimePoint(time); }

TEST(TaskTimesTest, CountsWhatIsNotOverYet) {
  TaskTimes times;
  EXPECT_EQ(times.read(at(5s)).now, Kind::kNone);
  EXPECT_EQ(times.read(at(5s)).idle, Duration(0));
  times.begin_step(at(10s));
  EXPECT_EQ(times.read(at(11s)).busy, Duration(1s));  // Inside a step that lasts.
  times.end_step(at(12s), Kind::kBusy, 500ms, Kind::kIdle);
  const TaskTimes::Times read = times.read(at(15s));
  EXPECT_EQ(read.busy, Duration(1500ms));
  EXPECT_EQ(read.back_pressured, Duration(500ms));  // For the disk.
  EXPECT_EQ(read.hard_back_pressured, Duration(500ms));
  EXPECT_EQ(read.idle, Duration(3s));
  EXPECT_EQ(read.now, Kind::kIdle);
  times.begin_step(at(16s));
  times.end_step(at(17s), Kind::kBackPressured, Duration{}, Kind::kBackPressured);
  EXPECT_EQ(times.read(at(20s)).back_pressured, Duration(4500ms));
  EXPECT_EQ(times.read(at(20s)).hard_back_pressured, Duration(500ms));  // Not between steps.
  times.begin_step(at(20s));
  times.end_step(at(20s), Kind::kBusy, Duration{}, Kind::kNone);
  EXPECT_EQ(times.read(at(60s)).back_pressured, Duration(4500ms));
  EXPECT_EQ(times.read(at(60s)).idle, Duration(4s));
}

TEST(TaskTimesTest, KnowsWhenTheStepBeganThatIsGoingOn) {
  TaskTimes times;
  EXPECT_EQ(times.step_began(), std::nullopt);
  times.begin_step(at(0s));
  EXPECT_EQ(times.step_began(), at(0s));
  times.end_step(at(1s), Kind::kBusy, Duration{}, Kind::kBusy);  // Waits for a worker.
  EXPECT_EQ(times.step_began(), std::nullopt);
}

TEST(TaskTimesTest, ReadersOnOtherThreadsFindTimesThatAddUp) {
  TaskTimes times;
  times.begin_step(at(Duration(0)));
  const auto clock = make_system_clock();
  ThreadExecutor reader("reader", *clock);
  std::atomic<bool> done{false};
  std::atomic<int64_t> wrong{0};
  reader.post("read", [&] {
    const TimePoint late = at(Duration(1'000'000'000));
    TaskTimes::Times read;
    while (!done) {
      if (times.try_read(late, &read) &&
          read.busy + read.idle + read.back_pressured != late.time_since_epoch())
        wrong++;
    }
  });
  for (int64_t i = 0; i < 100'000; i++) {
    times.end_step(at(Duration(2 * i + 1)), i % 2 == 0 ? Kind::kBusy : Kind::kBackPressured,
                   Duration{}, Kind::kIdle);
    times.begin_step(at(Duration(2 * i + 2)));
  }
  done = true;
  reader.stop();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace freshet
