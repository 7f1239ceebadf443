#include "runtime/app/process_restart_backoff.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(ProcessRestartBackoffTest, StartsAtOnceTheFirstTime) {
  ProcessRestartBackoff backoff;
  EXPECT_EQ(backoff.next(1s), Duration(0));
}

TEST(ProcessRestartBackoffTest, WaitsLongerAndLongerUpToItsBoundWhenLivesAreShort) {
  ProcessRestartBackoff backoff;
  EXPECT_EQ(backoff.next(1s), Duration(0));
  EXPECT_EQ(backoff.next(1s), Duration(250ms));
  EXPECT_EQ(backoff.next(1s), Duration(500ms));
  for (int i = 0; i < 10; i++) backoff.next(1s);
  EXPECT_EQ(backoff.next(1s), ProcessRestartBackoff::kLongest);
}

TEST(ProcessRestartBackoffTest, NeverWaitsLongerThanTold) {
  ProcessRestartBackoff at_once{Duration(0)};
  for (int i = 0; i < 10; i++) EXPECT_EQ(at_once.next(1s), Duration(0));
  ProcessRestartBackoff soon(100ms);
  EXPECT_EQ(soon.next(1s), Duration(0));
  for (int i = 0; i < 10; i++) EXPECT_EQ(soon.next(1s), Duration(100ms));
}

TEST(ProcessRestartBackoffTest, StartsAnewAfterALongLife) {
  ProcessRestartBackoff backoff;
  for (int i = 0; i < 5; i++) backoff.next(1s);
  EXPECT_EQ(backoff.next(ProcessRestartBackoff::kCalm), Duration(0));
}

}  // namespace
}  // namespace freshet
