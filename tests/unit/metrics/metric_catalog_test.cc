#include "runtime/metrics/metric_catalog.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/base/file_system.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

constexpr MetricScope kScopes[] = {MetricScope::kJobManager, MetricScope::kJob,
                                   MetricScope::kTaskManager, MetricScope::kTask,
                                   MetricScope::kOperator};

/// As README.md has it.
std::string table_of(MetricScope scope) {
  std::string table = "| name | kind | unit | meaning |\n| --- | --- | --- | --- |\n";
  for (const MetricInfo& one : catalog_of(scope)) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", one.name, kind_name(one.kind), one.unit,
                         one.meaning);
  }
  return table;
}

TEST(MetricCatalogTest, IsWhatTheReadmeSays) {
  const auto readme =
      make_local_file_system()->read_all(FRESHET_SOURCE "/runtime/metrics/README.md", 1u << 20);
  ASSERT_TRUE(readme.ok());
  for (const MetricScope scope : kScopes) {
    const std::string title = fmt::format("\n### `{}`\n", scope_name(scope));
    const size_t at = readme->find(title);
    ASSERT_NE(at, std::string::npos) << title;
    const size_t begin = readme->find("| name |", at);
    ASSERT_NE(begin, std::string::npos) << title;
    EXPECT_EQ(readme->substr(begin, readme->find("\n\n", begin) + 1 - begin), table_of(scope))
        << "the table of " << scope_name(scope);
  }
}

TEST(MetricCatalogTest, NamesEverythingOnceAndExplainsIt) {
  for (const MetricScope scope : kScopes) {
    std::set<std::string_view> names;
    for (const MetricInfo& one : catalog_of(scope)) {
      EXPECT_TRUE(names.insert(one.name).second) << one.name;
      EXPECT_NE(one.meaning, "") << one.name;
    }
  }
}

TEST(MetricCatalogTest, ReadsEachOfItsOwnNumber) {
  TaskNumbers numbers;
  numbers.records_in = 1;
  numbers.records_out = 3;
  numbers.bytes_in = 5;
  numbers.bytes_out = 7;
  numbers.buffers_out = 9;
  numbers.busy_ms = 16;
  numbers.idle_ms = 17;
  numbers.back_pressured_ms = 18;
  numbers.local_bytes_in = 28;
  numbers.remote_bytes_in = 30;
  numbers.local_buffers_in = 32;
  numbers.remote_buffers_in = 34;
  numbers.initialization_ms = 36;
  TaskGauges& gauges = numbers.gauges;
  gauges.records_in_per_second = 2;
  gauges.records_out_per_second = 4;
  gauges.bytes_in_per_second = 6;
  gauges.bytes_out_per_second = 8;
  gauges.buffers_out_per_second = 10;
  gauges.busy_per_second = 11;
  gauges.idle_per_second = 12;
  gauges.back_pressured_per_second = 14 + 15;
  gauges.hard_back_pressured_per_second = 15;
  gauges.back_pressured = true;
  gauges.input_queue_length = 20;
  gauges.input_queue_bytes = 21;
  gauges.in_pool_usage = 22;
  gauges.exclusive_usage = 23;
  gauges.floating_usage = 24;
  gauges.output_queue_length = 25;
  gauges.output_queue_bytes = 26;
  gauges.out_pool_usage = 27;
  gauges.local_bytes_in_per_second = 29;
  gauges.remote_bytes_in_per_second = 31;
  gauges.local_buffers_in_per_second = 33;
  gauges.remote_buffers_in_per_second = 35;
  gauges.latency_p50_ms = 37;
  gauges.latency_p95_ms = 38;
  gauges.latency_max_ms = 39;
  std::vector<MetricReading> readings;
  read_metrics(task_metrics(), numbers, &readings);
  ASSERT_EQ(readings.size(), 39u);
  const std::map<std::string, double> others = {
      {"isBackPressured", 1},
      {"backPressuredTimeMsPerSecond", 14 + 15}};  // Soft and hard ones together.
  for (size_t i = 0; i < readings.size(); i++) {
    const auto other = others.find(readings[i].name);
    const double wanted = other != others.end() ? other->second : static_cast<double>(i + 1);
    EXPECT_EQ(readings[i].value, wanted) << readings[i].name;
  }
}

TEST(MetricCatalogTest, CountsSegmentsAndTheirUse) {
  TaskManagerNumbers numbers;
  numbers.network_bytes = 4 * (32u << 10);
  numbers.network_bytes_free = 32u << 10;
  numbers.network_bytes_wanted = 6 * (32u << 10);
  std::vector<MetricReading> readings;
  read_metrics(network_metrics(), numbers, &readings);
  std::map<std::string, double> values;
  for (const MetricReading& one : readings) values[one.name] = one.value;
  EXPECT_EQ(values.at("Status.Shuffle.Netty.TotalMemorySegments"), 4);
  EXPECT_EQ(values.at("Status.Shuffle.Netty.AvailableMemorySegments"), 1);
  EXPECT_EQ(values.at("Status.Shuffle.Netty.UsedMemorySegments"), 3);
  EXPECT_EQ(values.at("Status.Shuffle.Netty.UsedMemory"), 3 * (32u << 10));
  EXPECT_EQ(values.at("Status.Shuffle.Netty.RequestedMemoryUsage"), 150);
}

}  // namespace
}  // namespace freshet
