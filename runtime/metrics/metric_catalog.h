#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/metrics/metric.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

/// A documented metric, and how it comes from what is counted.
template <class Numbers>
struct CatalogEntry {
  MetricInfo info;
  double (*value)(const Numbers&);
};

// Every metric that there is, under Flink's name where the thing is the same. README.md has the
// same tables; a test compares them.

std::span<const CatalogEntry<ClusterNumbers>> cluster_metrics();
std::span<const CatalogEntry<ProcessNumbers>> process_metrics();  // Of every process.
std::span<const CatalogEntry<JobNumbers>> job_metrics();
std::span<const CatalogEntry<TaskManagerNumbers>> network_metrics();  // Of a TaskManager.
std::span<const CatalogEntry<TaskNumbers>> task_metrics();
/// Of the source in a task's chain, and of the operator that takes a task's input.
std::span<const CatalogEntry<TaskNumbers>> source_metrics();
std::span<const CatalogEntry<TaskNumbers>> head_metrics();

/// Of the endpoint of a process for metrics.
extern const MetricInfo kScrapes;
extern const MetricInfo kScrapesPerSecond;
extern const MetricInfo kScrapeTime;

/// Appends what the catalog makes of `numbers`.
template <class Numbers>
void read_metrics(std::span<const CatalogEntry<Numbers>> catalog, const Numbers& numbers,
                  std::vector<MetricReading>* readings) {
  for (const CatalogEntry<Numbers>& one : catalog) {
    readings->push_back({std::string(one.info.name), one.info.kind, one.value(numbers),
                         std::nullopt, std::string(one.info.meaning)});
  }
}

/// All of a scope, in the order in which they are documented.
std::vector<MetricInfo> catalog_of(MetricScope scope);

}  // namespace freshet
