#include "runtime/metrics/metric_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const MetricGroupReading& group) {
  std::vector<std::string> names;
  for (const MetricReading& metric : group.metrics) names.push_back(metric.name);
  return names;
}

MetricInfo named(std::string_view name) { return {name, MetricKind::kGauge, "", ""}; }

TEST(MetricRegistryTest, ReadsEachKindWhereItIsCounted) {
  ManualClock clock;
  MetricRegistry registry;
  const auto group =
      std::make_shared<MetricGroup>(MetricScope::kTask, MetricLabels{{"job_id", "1"}});
  MetricCounter counter;
  double level = 0.5;
  const auto sizes = std::make_shared<Histogram>();
  group->counter(named("count"), [&] { return counter.count(); });
  group->gauge(named("level"), [&] { return level; });
  group->meter(named("rate"), clock.now(), [&] { return counter.count(); });
  group->histogram(named("sizes"), sizes);
  registry.add(group);
  clock.advance(10s);
  counter.add(20);
  counter.add();
  level = 0.75;
  sizes->add(3);
  const auto groups = registry.read(clock.now());
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scope, MetricScope::kTask);
  EXPECT_THAT(groups[0].labels, ElementsAre(std::pair("job_id", "1")));
  EXPECT_THAT(names_of(groups[0]), ElementsAre("count", "level", "rate", "sizes"));
  EXPECT_EQ(groups[0].metrics[0].value, 21);
  EXPECT_EQ(groups[0].metrics[1].value, 0.75);
  EXPECT_DOUBLE_EQ(groups[0].metrics[2].value, 2.1);
  EXPECT_EQ(groups[0].metrics[3].histogram->quantiles.at(.5), 3);
}

TEST(MetricRegistryTest, AMeterCountsFromItsBeginning) {
  ManualClock clock;
  MetricGroup group(MetricScope::kTask, {});
  MetricCounter counter;
  counter.add(1'000'000);
  group.meter(named("rate"), clock.now(), [&] { return counter.count(); });
  clock.advance(2s);
  counter.add(10);
  std::vector<MetricGroupReading> groups;
  group.read(clock.now(), &groups);
  EXPECT_DOUBLE_EQ(groups[0].metrics[0].value, 5);
}

TEST(MetricRegistryTest, ForgetsWhatItsOwnersLetGo) {
  MetricRegistry registry;
  auto first = std::make_shared<MetricGroup>(MetricScope::kTask, MetricLabels{});
  const auto second = std::make_shared<MetricGroup>(MetricScope::kTaskManager, MetricLabels{});
  registry.add(first);
  registry.add(second);
  EXPECT_EQ(registry.read(TimePoint{}).size(), 2u);
  first.reset();
  const auto groups = registry.read(TimePoint{});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].scope, MetricScope::kTaskManager);
}

TEST(MetricRegistryTest, IsReadWhileOthersCountComeAndGo) {
  const auto clock = make_system_clock();
  MetricRegistry registry;
  MetricCounter counter;
  const auto sizes = std::make_shared<Histogram>();
  const auto lasting = std::make_shared<MetricGroup>(MetricScope::kTaskManager, MetricLabels{});
  lasting->counter(named("count"), [&] { return counter.count(); });
  lasting->meter(named("rate"), clock->now(), [&] { return counter.count(); });
  lasting->histogram(named("sizes"), sizes);
  registry.add(lasting);
  std::atomic<bool> done{false};
  ThreadExecutor first("first", *clock);
  ThreadExecutor second("second", *clock);
  for (ThreadExecutor* reader : {&first, &second}) {
    reader->post("read", [&] {
      double last = 0;
      while (!done) {
        const auto groups = registry.read(clock->now());
        EXPECT_GE(groups.at(0).metrics.at(0).value, last);
        last = groups.at(0).metrics.at(0).value;
      }
    });
  }
  for (int i = 0; i < 2000; i++) {
    const auto passing = std::make_shared<MetricGroup>(MetricScope::kTask, MetricLabels{});
    registry.add(passing);
    passing->counter(named("own"), [] { return uint64_t{1}; });
    counter.add();
    sizes->add(i);
  }
  done = true;
  first.stop();
  second.stop();
  EXPECT_EQ(registry.read(clock->now()).size(), 1u);
}

}  // namespace
}  // namespace freshet
