#include "runtime/metrics/metric.h"

namespace freshet {

std::string_view scope_name(MetricScope scope) {
  switch (scope) {
    case MetricScope::kJobManager:
      return "jobmanager";
    case MetricScope::kJob:
      return "jobmanager_job";
    case MetricScope::kTaskManager:
      return "taskmanager";
    case MetricScope::kTask:
      return "taskmanager_job_task";
    case MetricScope::kOperator:
      return "taskmanager_job_task_operator";
  }
  return "";
}

std::string_view kind_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kMeter:
      return "meter";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "";
}

}  // namespace freshet
