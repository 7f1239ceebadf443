#include "runtime/app/task_manager_metrics.h"

#include "runtime/metrics/metric_catalog.h"

namespace freshet {

TaskManagerNumbers TaskManagerMetrics::numbers() {
  MutexLock lock(mutex_);
  TaskManagerNumbers numbers;
  if (shuffle_ == nullptr) return numbers;
  numbers.process = process_.read();
  numbers.network_bytes = shuffle_->total_bytes();
  numbers.network_bytes_free = shuffle_->free_bytes();
  numbers.network_bytes_wanted = shuffle_->wanted_bytes();
  numbers.managed_bytes = managed_bytes_;
  numbers.machine = read_machine(files_);
  return numbers;
}

void TaskManagerMetrics::read(TimePoint, std::vector<MetricGroupReading>* groups) {
  const TaskManagerNumbers now = numbers();
  if (now.network_bytes == 0) return;
  MetricGroupReading group{MetricScope::kTaskManager, labels_, {}};
  read_metrics(process_metrics(), now.process, &group.metrics);
  read_metrics(network_metrics(), now, &group.metrics);
  groups->push_back(std::move(group));
}

void TaskManagerMetrics::release() {
  MutexLock lock(mutex_);
  shuffle_ = nullptr;
}

}  // namespace freshet
