#include "runtime/chaos/fault_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/base/faults.h"

namespace freshet::chaos {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ClusterShape shape() {
  ClusterShape shape;
  shape.task_managers = 3;
  shape.vertices = {{"0", "source -> split", 2}, {"1", "count", 4}};
  return shape;
}

std::vector<PlannedFault> expanded(const std::string& text, uint64_t seed = 1) {
  const auto plan = parse_fault_plan("plan", "faults:\n" + text);
  if (!plan.ok()) ADD_FAILURE() << plan.status().message();
  if (!plan.ok()) return {};
  const auto faults = expand(*plan, shape(), seed);
  if (!faults.ok()) ADD_FAILURE() << faults.status().message();
  return faults.ok() ? *faults : std::vector<PlannedFault>();
}

std::string refusal(const std::string& text) {
  const auto plan = parse_fault_plan("plan", text);
  if (plan.ok()) return "parsed";
  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
  return plan.status().message();
}

std::string refused_expansion(const std::string& text, const ClusterShape& of = shape()) {
  const auto plan = parse_fault_plan("plan", "faults:\n" + text);
  if (!plan.ok()) return "not parsed: " + plan.status().message();
  const Status status = expand(*plan, of, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  return status.message();
}

TEST(FaultPlanTest, SaysWhatHappensWhenToWhom) {
  const auto faults = expanded(
      "  - pause: taskmanager-2\n"
      "    at: 3s\n"
      "    lasts: 500ms\n"
      "  - mark: deploy.before_ack\n"
      "    of: taskmanager-1\n"
      "    passing: 2\n"
      "    do: kill\n"
      "  - exception: task:count/3\n"
      "    at: 1s\n");
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].to_string(), "kill taskmanager-1 at deploy.before_ack:2");
  EXPECT_EQ(faults[1].to_string(), "+1.000s exception task:1/3");
  EXPECT_EQ(faults[2].to_string(), "+3.000s pause taskmanager-2 for 500 ms");
  for (size_t i = 0; i < faults.size(); i++) EXPECT_EQ(faults[i].number, i + 1);
}

TEST(FaultPlanTest, RepeatsWithJitterAsLongAsItSays) {
  const auto plain = expanded("  - kill: taskmanager\n    every: 2s\n    for: 60s\n");
  ASSERT_EQ(plain.size(), 31u);
  for (size_t i = 0; i < plain.size(); i++) EXPECT_EQ(*plain[i].at, i * 2s);
  const auto moved = expanded(
      "  - kill: taskmanager\n    at: 4s\n    every: 2s\n    jitter: 500ms\n    for: 60s\n");
  ASSERT_EQ(moved.size(), 31u);
  std::set<Duration> distances;
  for (size_t i = 0; i < moved.size(); i++) {
    const Duration distance = *moved[i].at - (4s + i * 2s);
    EXPECT_LE(distance, 500ms);
    EXPECT_GE(distance, -500ms);
    distances.insert(distance);
  }
  EXPECT_GT(distances.size(), 20u);
}

TEST(FaultPlanTest, RandomMomentsLieInTheirSpan) {
  const auto faults = expanded("  - kill: taskmanager\n    at: 1s\n    random: 50\n    for: 10s\n");
  ASSERT_EQ(faults.size(), 50u);
  EXPECT_TRUE(std::is_sorted(faults.begin(), faults.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
  EXPECT_GE(*faults.front().at, 1s);
  EXPECT_LT(*faults.back().at, 11s);
}

TEST(FaultPlanTest, TheSameSeedGivesTheSameAndAnotherOneAnother) {
  const std::string text =
      "  - kill: taskmanager\n    random: 20\n    for: 10s\n"
      "  - cut: taskmanager <-> taskmanager\n    random: 20\n    for: 10s\n    lasts: 1s\n"
      "  - exception: task\n    random: 20\n    for: 10s\n";
  EXPECT_EQ(expanded(text, 7), expanded(text, 7));
  EXPECT_NE(expanded(text, 7), expanded(text, 8));
}

TEST(FaultPlanTest, ARuleMoreDoesNotMoveTheOthers) {
  const std::string first = "  - kill: taskmanager\n    random: 5\n    for: 10s\n";
  const auto alone = expanded(first);
  const auto both = expanded(first + "  - exception: task\n    random: 5\n    for: 10s\n");
  for (const PlannedFault& fault : alone) {
    EXPECT_TRUE(std::any_of(both.begin(), both.end(), [&](const PlannedFault& other) {
      return other.at == fault.at && other.fault == fault.fault;
    })) << fault.to_string();
  }
}

TEST(FaultPlanTest, ChanceMeetsEverybodyAndNobodyTwiceOnALink) {
  std::set<std::string> processes, links;
  std::set<uint64_t> chances;
  for (const PlannedFault& fault : expanded(
           "  - kill: taskmanager\n    random: 100\n    for: 10s\n"
           "  - exception: task\n    random: 100\n    for: 10s\n"
           "  - cut: taskmanager -> taskmanager\n    random: 100\n    for: 10s\n    lasts: 1s\n")) {
    if (fault.fault.kind == FaultKind::kKill) processes.insert(fault.fault.target());
    chances.insert(fault.chance);
    if (fault.fault.kind != FaultKind::kCut) continue;
    links.insert(fault.fault.target());
    EXPECT_NE(fault.fault.link.from, fault.fault.link.to);
  }
  EXPECT_EQ(processes.size(), 3u);
  EXPECT_EQ(chances.size(), 300u);
  EXPECT_EQ(links.size(), 6u);
}

TEST(FaultPlanTest, WhatIsNotThereIsNamedWithWhatIs) {
  EXPECT_THAT(refused_expansion("  - kill: taskmanager-4\n    at: 1s\n"),
              HasSubstr("there is no taskmanager-4: the cluster has 3 TaskManagers"));
  EXPECT_THAT(refused_expansion("  - exception: task:sum/0\n    at: 1s\n"),
              HasSubstr("no vertex 'sum'; it has:\n  0  source -> split\n  1  count"));
  EXPECT_THAT(refused_expansion("  - exception: task:1/4\n    at: 1s\n"),
              HasSubstr("'count' has the subtasks 0 to 3"));
  ClusterShape one = shape();
  one.task_managers = 1;
  EXPECT_THAT(
      refused_expansion("  - cut: taskmanager <-> taskmanager\n    at: 1s\n    lasts: 1s\n", one),
      HasSubstr("needs two TaskManagers"));
}

TEST(FaultPlanTest, WhatMakesNoSenseIsRefusedWithItsLine) {
  EXPECT_THAT(refusal(""), HasSubstr("plan:1: has no faults"));
  EXPECT_THAT(refusal("faults: 3"), StartsWith("plan:1: a plan is 'faults:'"));
  EXPECT_THAT(refusal("kill: taskmanager"), StartsWith("plan:1: a plan is 'faults:'"));
  EXPECT_THAT(refusal("faults:\n  - kill: taskmanager\n    at: soon\n"), StartsWith("plan:3: at"));
  EXPECT_THAT(refusal("faults:\n  - at: 3s\n"), HasSubstr("says no fault"));
  EXPECT_THAT(refusal("faults:\n  - kil: taskmanager\n"), HasSubstr("plan:2: 'kil' is not known"));
  EXPECT_THAT(refusal("faults:\n  - kill: me\n"), HasSubstr("plan:2: kill: no process is called"));
  EXPECT_THAT(refusal("faults:\n  - kill: jobmanager\n    cut: jobmanager <-> taskmanager\n"),
              HasSubstr("'kill' and 'cut'"));
  EXPECT_THAT(refusal("faults:\n  - pause: taskmanager\n"), HasSubstr("needs 'lasts'"));
  EXPECT_THAT(refusal("faults:\n  - kill: taskmanager\n    lasts: 1s\n"),
              HasSubstr("does not last"));
  EXPECT_THAT(refusal("faults:\n  - kill: taskmanager\n    every: 1s\n"), HasSubstr("need 'for'"));
  EXPECT_THAT(refusal("faults:\n  - kill: taskmanager\n    for: 1s\n"), HasSubstr("needs 'every'"));
  EXPECT_THAT(refusal("faults:\n  - kill: taskmanager\n    rate: 5\n"), HasSubstr("means nothing"));
  EXPECT_THAT(refusal("faults:\n  - mark: no.such\n    do: kill\n"),
              HasSubstr("no mark is called"));
  EXPECT_THAT(refusal("faults:\n  - mark: deploy.before_ack\n"), HasSubstr("needs 'do'"));
  EXPECT_THAT(refusal("faults:\n  - mark: deploy.before_ack\n    of: jobmanager\n    do: kill\n"),
              HasSubstr("only a TaskManager passes deploy.before_ack"));
  EXPECT_THAT(refusal("faults:\n  - mark: cancel.before_ack\n    do: throw\n"),
              HasSubstr("use kill, stop or delay"));
  EXPECT_THAT(refusal("faults:\n  - mark: deploy.before_ack\n    do: kill\n    at: 1s\n"),
              HasSubstr("a mark has no time"));
  EXPECT_THAT(refusal("faults:\n  - mark: deploy.before_ack\n    do: stop\n"),
              HasSubstr("needs 'lasts'"));
  EXPECT_THAT(refusal("faults:\n  - slow: taskmanager -> taskmanager\n    lasts: 1s\n"),
              HasSubstr("needs 'delay'"));
  EXPECT_THAT(refusal("faults:\n  - kill: taskmanager\n    kill: taskmanager\n"),
              HasSubstr("twice"));
  EXPECT_THAT(refusal("faults:\n  - [a]\n"), HasSubstr("a plan is"));
  EXPECT_THAT(refusal("faults: [[[[[[[[[["), StartsWith("plan:"));
  EXPECT_THAT(refusal("faults:\n  - *x\n"), StartsWith("plan:2"));
  EXPECT_THAT(refusal("faults:\n - kill: taskmanager\n---\nfaults:\n"), StartsWith("plan:"));
}

FaultRule random_rule(Random& random) {
  FaultRule rule;
  const auto& kinds = fault_kinds();
  const FaultKindInfo& info = kinds[random.below(kinds.size())];
  rule.fault.kind = info.kind;
  const auto millis = [&] { return std::chrono::milliseconds(1 + random.below(5000)); };
  if (info.lasts) rule.fault.lasts = millis();
  if (info.subject == FaultSubject::kMark) {
    rule.fault.mark = fault_marks()[random.below(fault_marks().size())].name;
    rule.fault.mark_action = random.one_in(2) ? "kill" : "delay=20";
    rule.fault.passing = 1 + random.below(5);
  } else if (random.one_in(2)) {
    rule.times = {.at = millis(), .every = 4 * millis(), .span = 20s};
    rule.times.jitter = rule.times.every / 4;
  } else {
    rule.times = {.at = millis(), .span = 20s, .count = 1 + static_cast<uint32_t>(random.below(9))};
  }
  if (info.subject == FaultSubject::kLink) rule.fault.link = {{false, 1}, {}, random.one_in(2)};
  if (info.subject == FaultSubject::kTask) rule.fault.task = {"it's: a 'name'", 1};
  if (info.kind == FaultKind::kFlap) rule.fault.period = millis();
  if (info.kind == FaultKind::kSlow) rule.fault.bytes_per_second = 1 + random.below(1000);
  if (info.kind == FaultKind::kDiskSlow) rule.fault.delay = millis();
  return rule;
}

TEST(FaultPlanTest, WhatIsWrittenIsReadAgain) {
  const auto random = make_seeded_random(1);
  for (int i = 0; i < 300; i++) {
    FaultPlan plan;
    while (plan.rules.size() < 3) {
      const FaultRule rule = random_rule(*random);
      if (check(rule).ok()) plan.rules.push_back(rule);
    }
    const auto again = parse_fault_plan("plan", to_text(plan));
    ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << to_text(plan);
    EXPECT_EQ(*again, plan) << to_text(plan);
  }
}

TEST(FaultPlanTest, KillsOfACommandLineAreAPlan) {
  const auto plan = kill_plan("taskmanager", 2s, 60s);
  ASSERT_TRUE(plan.ok());
  const auto faults = expand(*plan, shape(), 1);
  ASSERT_EQ(faults->size(), 30u);
  for (size_t i = 0; i < faults->size(); i++) {
    EXPECT_EQ((*faults)[i].fault.kind, FaultKind::kKill);
    EXPECT_NEAR(static_cast<double>(to_millis(*(*faults)[i].at)),
                2000.0 * static_cast<double>(i + 1), 500);
  }
  EXPECT_EQ(kill_plan("task:1", 2s, 2s)->rules[0].fault.kind, FaultKind::kException);
  EXPECT_THAT(kill_plan("disk", 2s, 60s).status().message(), HasSubstr("'disk'"));
  EXPECT_THAT(kill_plan("taskmanager", 2s, 1s).status().message(), HasSubstr("--for"));
  EXPECT_THAT(kill_plan("taskmanager", 0s, 1s).status().message(), HasSubstr("--every"));
}

TEST(FaultPlanTest, OfPlannedFaultsBecomesThemWithEverySeed) {
  const auto faults = expanded(
      "  - exception: task\n"
      "    every: 100ms\n"
      "    for: 1s\n"
      "    jitter: 33ms\n"
      "  - damage-file: spill\n"
      "    of: taskmanager\n"
      "    random: 4\n"
      "    for: 3s\n"
      "  - flap: taskmanager -> taskmanager\n"
      "    at: 1s\n"
      "    lasts: 2s\n"
      "    period: 100ms\n"
      "  - mark: deploy.before_ack\n"
      "    of: taskmanager\n"
      "    passing: 2\n"
      "    do: delay=70\n");
  const FaultPlan plan = as_plan(faults);
  const auto parsed = parse_fault_plan("plan", to_text(plan));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << to_text(plan);
  for (const uint64_t seed : {5u, 6u}) {
    auto again = *expand(*parsed, shape(), seed);
    ASSERT_EQ(again.size(), faults.size());
    for (size_t i = 0; i < faults.size(); ++i) {
      // Where nothing is open, chance decides nothing.
      if (faults[i].fault.kind == FaultKind::kFlap) again[i].chance = faults[i].chance;
      EXPECT_EQ(again[i], faults[i]) << faults[i].to_string();
    }
  }
}

TEST(FaultPlanTest, RefusesChanceOfManyFaults) {
  EXPECT_THAT(refusal("faults:\n  - exception: task\n    chance: 7\n    every: 1s\n    for: 9s\n"),
              HasSubstr("'chance' is for one fault"));
  EXPECT_THAT(refusal("faults:\n  - mark: deploy.before_ack\n    do: kill\n    chance: 7\n"),
              HasSubstr("'chance' means nothing to a mark"));
}

}  // namespace
}  // namespace freshet::chaos
