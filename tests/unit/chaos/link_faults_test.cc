#include "runtime/chaos/link_faults.h"

#include <gtest/gtest.h>

namespace freshet::chaos {
namespace {

Fault fault(FaultKind kind, const std::string& link) {
  Fault result;
  result.kind = kind;
  result.link = parse_link_name(link).value();
  return result;
}

const TimePoint kStart{};

TEST(LinkFaultsTest, ConcernBothWaysOrTheOneThatTheyName) {
  LinkFaults faults;
  const LinkEffect none;
  EXPECT_EQ(faults.effect("taskmanager-1", "jobmanager", kStart), none);
  const uint64_t both = faults.add(fault(FaultKind::kCut, "taskmanager-1 <-> jobmanager"), kStart);
  EXPECT_TRUE(faults.effect("taskmanager-1", "jobmanager", kStart).cut);
  EXPECT_TRUE(faults.effect("jobmanager", "taskmanager-1", kStart).cut);
  EXPECT_EQ(faults.effect("taskmanager-2", "jobmanager", kStart), none);
  EXPECT_EQ(faults.effect("taskmanager-1", "taskmanager-2", kStart), none);
  faults.remove(both);
  faults.add(fault(FaultKind::kHalfOpen, "taskmanager-1 -> taskmanager-2"), kStart);
  EXPECT_TRUE(faults.effect("taskmanager-1", "taskmanager-2", kStart).held);
  EXPECT_EQ(faults.effect("taskmanager-2", "taskmanager-1", kStart), none);
  faults.clear();
  EXPECT_EQ(faults.effect("taskmanager-1", "taskmanager-2", kStart), none);
}

TEST(LinkFaultsTest, ALinkOfAnyTaskManagerIsAllOfThem) {
  LinkFaults faults;
  faults.add(fault(FaultKind::kCut, "taskmanager <-> jobmanager"), kStart);
  EXPECT_TRUE(faults.effect("taskmanager-1", "jobmanager", kStart).cut);
  EXPECT_TRUE(faults.effect("jobmanager", "taskmanager-17", kStart).cut);
  EXPECT_FALSE(faults.effect("taskmanager-1", "taskmanager-2", kStart).cut);
}

TEST(LinkFaultsTest, NeverConcernStrangers) {
  LinkFaults faults;
  faults.add(fault(FaultKind::kCut, "taskmanager <-> jobmanager"), kStart);
  EXPECT_FALSE(faults.effect("", "jobmanager", kStart).cut);
  EXPECT_FALSE(faults.effect("jobmanager", "", kStart).cut);
}

TEST(LinkFaultsTest, TheWorseOfTwoHolds) {
  LinkFaults faults;
  Fault slow = fault(FaultKind::kSlow, "taskmanager-1 <-> taskmanager-2");
  slow.delay = 10ms;
  slow.bytes_per_second = 1000;
  const uint64_t first = faults.add(slow, kStart);
  slow.delay = 50ms;
  slow.bytes_per_second = 9000;
  faults.add(slow, kStart);
  slow.delay = 0ms;
  slow.bytes_per_second = 0;
  faults.add(slow, kStart);
  EXPECT_EQ(faults.effect("taskmanager-2", "taskmanager-1", kStart),
            (LinkEffect{false, false, 50ms, 1000}));
  faults.remove(first);
  EXPECT_EQ(faults.effect("taskmanager-2", "taskmanager-1", kStart),
            (LinkEffect{false, false, 50ms, 9000}));
  EXPECT_EQ(faults.next_change(kStart), std::nullopt);
}

TEST(LinkFaultsTest, AFlappingLinkIsCutAndHealedInTurns) {
  LinkFaults faults;
  Fault flap = fault(FaultKind::kFlap, "taskmanager-1 <-> jobmanager");
  flap.period = 100ms;
  faults.add(flap, kStart + 1s);
  const auto is_cut = [&](Duration after) {
    return faults.effect("taskmanager-1", "jobmanager", kStart + 1s + after).cut;
  };
  EXPECT_TRUE(is_cut(0ms));
  EXPECT_TRUE(is_cut(99ms));
  EXPECT_FALSE(is_cut(100ms));
  EXPECT_FALSE(is_cut(199ms));
  EXPECT_TRUE(is_cut(200ms));
  EXPECT_EQ(faults.next_change(kStart + 1s), kStart + 1100ms);
  EXPECT_EQ(faults.next_change(kStart + 1100ms), kStart + 1200ms);
}

}  // namespace
}  // namespace freshet::chaos
