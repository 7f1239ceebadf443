#include "runtime/metrics/metric_catalog.h"

#include <algorithm>
#include <array>

namespace freshet {

namespace {

constexpr MetricKind kCounter = MetricKind::kCounter;
constexpr MetricKind kGauge = MetricKind::kGauge;
constexpr MetricKind kMeter = MetricKind::kMeter;
constexpr MetricKind kHistogram = MetricKind::kHistogram;

constexpr double kSegmentBytes = 32u << 10;
constexpr double kPercent = 100;

double number(uint64_t value) { return static_cast<double>(value); }
double number(int64_t value) { return static_cast<double>(value); }
double number(double value) { return value; }
double number(float value) { return value; }

/// The value of one member.
template <auto kMember>
constexpr auto of = [](const auto& numbers) { return number(numbers.*kMember); };

using Cluster = ClusterNumbers;
constexpr std::array kCluster = {
    CatalogEntry<Cluster>{{"numRegisteredTaskManagers", kGauge, "", "TaskManagers that are there"},
                          of<&Cluster::task_managers>},
    CatalogEntry<Cluster>{{"numRunningJobs", kGauge, "", "jobs that have not ended"},
                          of<&Cluster::jobs_running>},
    CatalogEntry<Cluster>{{"taskSlotsAvailable", kGauge, "", "slots that no job holds"},
                          of<&Cluster::slots_free>},
    CatalogEntry<Cluster>{{"taskSlotsTotal", kGauge, "", "slots of all TaskManagers"},
                          of<&Cluster::slots>},
};

using Process = ProcessNumbers;
constexpr std::array kProcess = {
    CatalogEntry<Process>{
        {"Status.CPU.Load", kGauge, "", "share of all cores in the last seconds, 0 to 1"},
        of<&Process::cpu_load>},
    CatalogEntry<Process>{{"Status.CPU.Time", kCounter, "ns", "time on all cores, user and system"},
                          of<&Process::cpu_time_nanos>},
    CatalogEntry<Process>{{"Status.Memory.RSS", kGauge, "bytes", "memory that is resident"},
                          of<&Process::resident_bytes>},
    CatalogEntry<Process>{{"Status.Memory.Virtual", kGauge, "bytes", "addresses that are in use"},
                          of<&Process::virtual_bytes>},
    CatalogEntry<Process>{{"Status.Threads.Count", kGauge, "", "threads"}, of<&Process::threads>},
    CatalogEntry<Process>{
        {"Status.JVM.CPU.Load", kGauge, "", "same as Status.CPU.Load: there is no JVM"},
        of<&Process::cpu_load>},
    CatalogEntry<Process>{
        {"Status.JVM.CPU.Time", kCounter, "ns", "same as Status.CPU.Time: there is no JVM"},
        of<&Process::cpu_time_nanos>},
    CatalogEntry<Process>{{"Status.JVM.Memory.Heap.Used", kGauge, "bytes",
                           "same as Status.Memory.RSS: there is no JVM"},
                          of<&Process::resident_bytes>},
    CatalogEntry<Process>{
        {"Status.JVM.Threads.Count", kGauge, "", "same as Status.Threads.Count: there is no JVM"},
        of<&Process::threads>},
};

using Job = JobNumbers;
constexpr std::array kJob = {
    CatalogEntry<Job>{{"numRestarts", kCounter, "", "restarts of the job"}, of<&Job::restarts>},
    CatalogEntry<Job>{
        {"uptime", kGauge, "ms", "time that it runs without an interruption; -1: it does not run"},
        of<&Job::uptime_ms>},
    CatalogEntry<Job>{{"createdTime", kGauge, "ms", "time that it waits for slots; else 0"},
                      of<&Job::created_ms>},
    CatalogEntry<Job>{{"deployingTime", kGauge, "ms",
                       "time that it runs and not all of its tasks have started; else 0"},
                      of<&Job::deploying_ms>},
    CatalogEntry<Job>{{"runningTime", kGauge, "ms", "time that it is RUNNING; else 0"},
                      of<&Job::running_ms>},
    CatalogEntry<Job>{{"restartingTime", kGauge, "ms", "time that it is RESTARTING; else 0"},
                      of<&Job::restarting_ms>},
    CatalogEntry<Job>{{"failingTime", kGauge, "ms", "time that it is FAILING; else 0"},
                      of<&Job::failing_ms>},
    CatalogEntry<Job>{{"cancellingTime", kGauge, "ms", "time that it is CANCELLING; else 0"},
                      of<&Job::cancelling_ms>},
};

using Worker = TaskManagerNumbers;
double used_bytes(const Worker& numbers) {
  return number(numbers.network_bytes) - number(numbers.network_bytes_free);
}
constexpr std::array kNetwork = {
    CatalogEntry<Worker>{{"Status.Shuffle.Netty.TotalMemorySegments", kGauge, "segments",
                          "segments of 32 KiB for buffers"},
                         [](const Worker& n) { return number(n.network_bytes) / kSegmentBytes; }},
    CatalogEntry<Worker>{
        {"Status.Shuffle.Netty.AvailableMemorySegments", kGauge, "segments",
         "those of them of which nothing is in use"},
        [](const Worker& n) { return number(n.network_bytes_free) / kSegmentBytes; }},
    CatalogEntry<Worker>{{"Status.Shuffle.Netty.UsedMemorySegments", kGauge, "segments",
                          "those of them of which something is in use"},
                         [](const Worker& n) { return used_bytes(n) / kSegmentBytes; }},
    CatalogEntry<Worker>{
        {"Status.Shuffle.Netty.TotalMemory", kGauge, "bytes", "memory for buffers"},
        of<&Worker::network_bytes>},
    CatalogEntry<Worker>{{"Status.Shuffle.Netty.AvailableMemory", kGauge, "bytes",
                          "of that, segments of which nothing is in use"},
                         of<&Worker::network_bytes_free>},
    CatalogEntry<Worker>{{"Status.Shuffle.Netty.UsedMemory", kGauge, "bytes",
                          "of that, segments of which something is in use"},
                         used_bytes},
    CatalogEntry<Worker>{
        {"Status.Shuffle.Netty.RequestedMemoryUsage", kGauge, "percent",
         "what all outputs and inputs could use at once, of TotalMemory; may be above 100"},
        [](const Worker& n) {
          return n.network_bytes == 0
                     ? 0
                     : kPercent * number(n.network_bytes_wanted) / number(n.network_bytes);
        }},
};

using Task = TaskNumbers;
/// The value of one gauge.
template <auto kMember>
constexpr auto gauge = [](const Task& task) { return static_cast<double>(task.gauges.*kMember); };

using Gauges = TaskGauges;
constexpr std::array kTask = {
    CatalogEntry<Task>{{"numRecordsIn", kCounter, "records", "taken from all inputs"},
                       of<&Task::records_in>},
    CatalogEntry<Task>{
        {"numRecordsInPerSecond", kMeter, "records/s", "the same in a second, of the last minute"},
        gauge<&Gauges::records_in_per_second>},
    CatalogEntry<Task>{{"numRecordsOut", kCounter, "records", "written, once per consumer"},
                       of<&Task::records_out>},
    CatalogEntry<Task>{
        {"numRecordsOutPerSecond", kMeter, "records/s", "the same in a second, of the last minute"},
        gauge<&Gauges::records_out_per_second>},
    CatalogEntry<Task>{{"numBytesIn", kCounter, "bytes", "of the records taken, with headers"},
                       of<&Task::bytes_in>},
    CatalogEntry<Task>{
        {"numBytesInPerSecond", kMeter, "bytes/s", "the same in a second, of the last minute"},
        gauge<&Gauges::bytes_in_per_second>},
    CatalogEntry<Task>{{"numBytesOut", kCounter, "bytes", "of the records written, with headers"},
                       of<&Task::bytes_out>},
    CatalogEntry<Task>{
        {"numBytesOutPerSecond", kMeter, "bytes/s", "the same in a second, of the last minute"},
        gauge<&Gauges::bytes_out_per_second>},
    CatalogEntry<Task>{{"numBuffersOut", kCounter, "buffers", "handed over to consumers"},
                       of<&Task::buffers_out>},
    CatalogEntry<Task>{
        {"numBuffersOutPerSecond", kMeter, "buffers/s", "the same in a second, of the last minute"},
        gauge<&Gauges::buffers_out_per_second>},
    CatalogEntry<Task>{
        {"busyTimeMsPerSecond", kGauge, "ms/s", "time with work to do, of the last seconds"},
        gauge<&Gauges::busy_per_second>},
    CatalogEntry<Task>{
        {"idleTimeMsPerSecond", kGauge, "ms/s", "time without input, of the last seconds"},
        gauge<&Gauges::idle_per_second>},
    CatalogEntry<Task>{{"backPressuredTimeMsPerSecond", kGauge, "ms/s",
                        "time without space in an output, of the last seconds"},
                       gauge<&Gauges::back_pressured_per_second>},
    CatalogEntry<Task>{{"softBackPressuredTimeMsPerSecond", kGauge, "ms/s",
                        "of that, between elements: it does not take the next one"},
                       [](const Task& task) {
                         return std::max(0.0,
                                         number(task.gauges.back_pressured_per_second) -
                                             number(task.gauges.hard_back_pressured_per_second));
                       }},
    CatalogEntry<Task>{{"hardBackPressuredTimeMsPerSecond", kGauge, "ms/s",
                        "of that, in the middle of an element: its output waits for a disk"},
                       gauge<&Gauges::hard_back_pressured_per_second>},
    CatalogEntry<Task>{{"accumulateBusyTimeMs", kCounter, "ms", "time with work to do"},
                       of<&Task::busy_ms>},
    CatalogEntry<Task>{{"accumulateIdleTimeMs", kCounter, "ms", "time without input"},
                       of<&Task::idle_ms>},
    CatalogEntry<Task>{
        {"accumulateBackPressuredTimeMs", kCounter, "ms", "time without space in an output"},
        of<&Task::back_pressured_ms>},
    CatalogEntry<Task>{
        {"isBackPressured", kGauge, "", "1: it waits for space in an output now; else 0"},
        gauge<&Gauges::back_pressured>},
    CatalogEntry<Task>{
        {"Shuffle.Netty.Input.Buffers.inputQueueLength", kGauge, "buffers",
         "that wait for the task; those of its own process from the time that it takes them"},
        gauge<&Gauges::input_queue_length>},
    CatalogEntry<Task>{
        {"Shuffle.Netty.Input.Buffers.inputQueueSize", kGauge, "bytes", "of these buffers"},
        gauge<&Gauges::input_queue_bytes>},
    CatalogEntry<Task>{
        {"Shuffle.Netty.Input.Buffers.inPoolUsage", kGauge, "",
         "part of the receive memory that is in use, 0 to 1; of several inputs the largest"},
        gauge<&Gauges::in_pool_usage>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.Buffers.inputExclusiveBuffersUsage", kGauge, "",
                        "part of the receive memory of single channels that is in use, 0 to 1: "
                        "what is in use beyond "
                        "what is lent"},
                       gauge<&Gauges::exclusive_usage>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.Buffers.inputFloatingBuffersUsage", kGauge, "",
                        "part of the receive memory for channels with more that is lent, 0 to 1"},
                       gauge<&Gauges::floating_usage>},
    CatalogEntry<Task>{{"Shuffle.Netty.Output.Buffers.outputQueueLength", kGauge, "buffers",
                        "handed over and not taken by consumers"},
                       gauge<&Gauges::output_queue_length>},
    CatalogEntry<Task>{
        {"Shuffle.Netty.Output.Buffers.outputQueueSize", kGauge, "bytes", "of these buffers"},
        gauge<&Gauges::output_queue_bytes>},
    CatalogEntry<Task>{
        {"Shuffle.Netty.Output.Buffers.outPoolUsage", kGauge, "",
         "part of its share of memory that an output holds, above 1 with overdraft; of several "
         "outputs the largest"},
        gauge<&Gauges::out_pool_usage>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBytesInLocal", kCounter, "bytes",
                        "of buffers that came from producers in the same process"},
                       of<&Task::local_bytes_in>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBytesInLocalPerSecond", kMeter, "bytes/s",
                        "the same in a second, of the last minute"},
                       gauge<&Gauges::local_bytes_in_per_second>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBytesInRemote", kCounter, "bytes",
                        "of buffers that came from producers in other processes"},
                       of<&Task::remote_bytes_in>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBytesInRemotePerSecond", kMeter, "bytes/s",
                        "the same in a second, of the last minute"},
                       gauge<&Gauges::remote_bytes_in_per_second>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBuffersInLocal", kCounter, "buffers",
                        "that came from producers in the same process"},
                       of<&Task::local_buffers_in>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBuffersInLocalPerSecond", kMeter, "buffers/s",
                        "the same in a second, of the last minute"},
                       gauge<&Gauges::local_buffers_in_per_second>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBuffersInRemote", kCounter, "buffers",
                        "that came from producers in other processes"},
                       of<&Task::remote_buffers_in>},
    CatalogEntry<Task>{{"Shuffle.Netty.Input.numBuffersInRemotePerSecond", kMeter, "buffers/s",
                        "the same in a second, of the last minute"},
                       gauge<&Gauges::remote_buffers_in_per_second>},
    CatalogEntry<Task>{{"initializationTime", kGauge, "ms",
                        "from INITIALIZING to RUNNING: operators were opened; 0 before that"},
                       of<&Task::initialization_ms>},
    CatalogEntry<Task>{
        {"scheduledLatencyP50", kGauge, "ms",
         "from scheduled time to sink, half of the records since the last report; 0: "
         "none came"},
        gauge<&Gauges::latency_p50_ms>},
    CatalogEntry<Task>{{"scheduledLatencyP95", kGauge, "ms", "the same, 95 % of them"},
                       gauge<&Gauges::latency_p95_ms>},
    CatalogEntry<Task>{{"scheduledLatencyMax", kGauge, "ms", "the same, all of them"},
                       gauge<&Gauges::latency_max_ms>},
};

constexpr std::array kSource = {
    CatalogEntry<Task>{{"numRecordsOut", kCounter, "records", "emitted; of sources"},
                       of<&Task::source_records>},
    CatalogEntry<Task>{
        {"numRecordsOutPerSecond", kMeter, "records/s", "the same in a second, of the last minute"},
        gauge<&Gauges::source_records_per_second>},
};

constexpr std::array kHead = {
    CatalogEntry<Task>{
        {"numRecordsIn", kCounter, "records", "taken; of the first operator of a chain"},
        of<&Task::records_in>},
    CatalogEntry<Task>{
        {"numRecordsInPerSecond", kMeter, "records/s", "the same in a second, of the last minute"},
        gauge<&Gauges::records_in_per_second>},
};

void append(auto&& catalog, std::vector<MetricInfo>* infos) {
  for (const auto& one : catalog) infos->push_back(one.info);
}

}  // namespace

const MetricInfo kScrapes{"Status.Metrics.numScrapes", kCounter, "",
                          "requests to the endpoint for metrics"};
const MetricInfo kScrapesPerSecond{"Status.Metrics.numScrapesPerSecond", kMeter, "1/s",
                                   "the same in a second, of the last minute"};
const MetricInfo kScrapeTime{"Status.Metrics.scrapeTimeMs", kHistogram, "ms",
                             "how long the last answers took to make"};

std::span<const CatalogEntry<ClusterNumbers>> cluster_metrics() { return kCluster; }
std::span<const CatalogEntry<ProcessNumbers>> process_metrics() { return kProcess; }
std::span<const CatalogEntry<JobNumbers>> job_metrics() { return kJob; }
std::span<const CatalogEntry<TaskManagerNumbers>> network_metrics() { return kNetwork; }
std::span<const CatalogEntry<TaskNumbers>> task_metrics() { return kTask; }
std::span<const CatalogEntry<TaskNumbers>> source_metrics() { return kSource; }
std::span<const CatalogEntry<TaskNumbers>> head_metrics() { return kHead; }

std::vector<MetricInfo> catalog_of(MetricScope scope) {
  std::vector<MetricInfo> infos;
  switch (scope) {
    case MetricScope::kJobManager:
      append(kCluster, &infos);
      append(kProcess, &infos);
      infos.insert(infos.end(), {kScrapes, kScrapesPerSecond, kScrapeTime});
      break;
    case MetricScope::kJob:
      append(kJob, &infos);
      break;
    case MetricScope::kTaskManager:
      append(kProcess, &infos);
      append(kNetwork, &infos);
      infos.insert(infos.end(), {kScrapes, kScrapesPerSecond, kScrapeTime});
      break;
    case MetricScope::kTask:
      append(kTask, &infos);
      break;
    case MetricScope::kOperator:
      append(kHead, &infos);
      append(kSource, &infos);
      break;
  }
  return infos;
}

}  // namespace freshet
