#include "runtime/chaos/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace freshet::chaos {
namespace {

using Faults = std::vector<PlannedFault>;

Faults pauses(uint32_t count) {
  Faults faults;
  for (uint32_t i = 1; i <= count; ++i) {
    PlannedFault& planned = faults.emplace_back();
    planned.number = i;
    planned.at = Duration(1s) * i;
    planned.fault.kind = FaultKind::kPause;
    planned.fault.lasts = 8s;
  }
  return faults;
}

bool has(const Faults& faults, uint32_t number) {
  return std::any_of(faults.begin(), faults.end(),
                     [&](const PlannedFault& one) { return one.number == number; });
}

std::vector<uint32_t> numbers(const Faults& faults) {
  std::vector<uint32_t> all;
  for (const PlannedFault& one : faults) all.push_back(one.number);
  return all;
}

TEST(ShrinkTest, KeepsTheOnlyFaultThatMatters) {
  for (uint32_t guilty = 1; guilty <= 13; ++guilty) {
    uint32_t runs = 0;
    const Faults least = shrink(
        pauses(13),
        [&](const Faults& faults) {
          ++runs;
          return has(faults, guilty);
        },
        1000);
    EXPECT_EQ(numbers(least), std::vector<uint32_t>{guilty});
    EXPECT_LT(runs, 60u);
  }
}

TEST(ShrinkTest, KeepsTwoThatMatterTogether) {
  const Faults least = shrink(
      pauses(20), [](const Faults& faults) { return has(faults, 3) && has(faults, 17); }, 1000);
  EXPECT_EQ(numbers(least), (std::vector<uint32_t>{3, 17}));
}

TEST(ShrinkTest, ShortensWhatLasts) {
  const Faults least = shrink(
      pauses(4),
      [](const Faults& faults) {
        return std::any_of(faults.begin(), faults.end(), [](const PlannedFault& one) {
          return one.number == 2 && one.fault.lasts >= 900ms;
        });
      },
      1000);
  ASSERT_EQ(numbers(least), std::vector<uint32_t>{2});
  EXPECT_EQ(least[0].fault.lasts, 1s);
}

TEST(ShrinkTest, LeavesNothingWhenItFailsWithoutFaults) {
  EXPECT_TRUE(shrink(
                  pauses(5), [](const Faults&) { return true; }, 1000)
                  .empty());
}

TEST(ShrinkTest, StopsAfterSoManyRuns) {
  uint32_t runs = 0;
  const Faults least = shrink(
      pauses(100),
      [&](const Faults& faults) {
        ++runs;
        return has(faults, 50);
      },
      4);
  EXPECT_EQ(runs, 4u);
  EXPECT_TRUE(has(least, 50));
}

}  // namespace
}  // namespace freshet::chaos
