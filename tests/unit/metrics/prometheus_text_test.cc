#include "runtime/metrics/prometheus_text.h"

#include <gtest/gtest.h>

#include "runtime/base/file_system.h"
#include "runtime/metrics/metric_catalog.h"

namespace freshet {
namespace {

TEST(PrometheusTextTest, IsAsFlinksReporterWritesIt) {
  std::vector<MetricGroupReading> groups;
  for (int subtask = 0; subtask < 2; subtask++) {
    MetricGroupReading task{MetricScope::kTask,
                            {{"host", "127.0.0.1"},
                             {"job_name", "Größe \"1\"\n"},
                             {"task_name", "Source: text -> words"},
                             {"subtask_index", std::to_string(subtask)}},
                            {}};
    TaskNumbers numbers;
    numbers.records_in = 12'345'678'901;
    numbers.gauges.records_in_per_second = 0.5;
    numbers.gauges.back_pressured = subtask == 1;
    read_metrics(task_metrics().first(2), numbers, &task.metrics);
    read_metrics(task_metrics().subspan(18, 2), numbers, &task.metrics);
    groups.push_back(std::move(task));
  }
  HistogramSummary times{3, 6.5, {{.5, 2}, {.99, 4.25}}};
  groups.push_back(
      {MetricScope::kTaskManager,
       {{"host", "127.0.0.1"}, {"tm_id", "tm-7"}},
       {{"Status.Metrics.scrapeTimeMs", MetricKind::kHistogram, 3, times, "how long"},
        {"Status.Metrics.none", MetricKind::kHistogram, 0, HistogramSummary{}, "of nothing"}}});
  const auto golden = make_local_file_system()->read_all(
      FRESHET_SOURCE "/tests/unit/metrics/testdata/prometheus.txt", 1u << 20);
  ASSERT_TRUE(golden.ok());
  EXPECT_EQ(prometheus_text(groups), *golden);
}

TEST(PrometheusTextTest, IsEmptyWithoutMetrics) { EXPECT_EQ(prometheus_text({}), ""); }

}  // namespace
}  // namespace freshet
