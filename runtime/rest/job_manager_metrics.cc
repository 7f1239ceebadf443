#include "runtime/rest/job_manager_metrics.h"

#include "runtime/metrics/metric_catalog.h"
#include "runtime/rest/rest_metrics.h"

namespace freshet::rest {

void JobManagerMetrics::read(TimePoint, std::vector<MetricGroupReading>* groups) {
  MetricGroupReading process{MetricScope::kJobManager, labels_, {}};
  const auto jobs = queries_.jobs();
  const auto task_managers = queries_.task_managers();
  if (jobs.ok() && task_managers.ok())
    read_metrics(cluster_metrics(), numbers_of(*jobs, *task_managers), &process.metrics);
  read_metrics(process_metrics(), queries_.process(), &process.metrics);
  groups->push_back(std::move(process));
  if (!jobs.ok()) return;
  for (const JobSummaryView& one : *jobs) {
    if (is_terminal(one.state)) continue;
    MetricGroupReading job{MetricScope::kJob, labels_, {}};
    job.labels.push_back({"job_id", one.id.to_string()});
    job.labels.push_back({"job_name", one.name});
    read_metrics(job_metrics(), one.numbers, &job.metrics);
    groups->push_back(std::move(job));
  }
}

}  // namespace freshet::rest
