#include "tests/integration/thread_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "runtime/base/hash.h"
#include "runtime/base/random.h"
#include "runtime/graph/job_graph.h"

namespace freshet::testing {

namespace {

constexpr const char* kModuleBytes = "stands for a shared object";

}  // namespace

ThreadCluster::ThreadCluster(std::shared_ptr<JobModule> module, Options options)
    : directory_(::testing::TempDir() + "job_on_threads." +
                 std::to_string(make_system_random()->next())),
      files_(std::move(options.files)),
      names_(options.task_managers),
      slots_(options.jobs_max * kParallelism / static_cast<uint32_t>(options.task_managers.size())),
      transport_(network_) {
  modules_.add(content_hash(kModuleBytes) + ".so", std::move(module));
  EXPECT_TRUE(configuration_.set(std::string(config::kWorkerThreads.name), "2").ok());
  EXPECT_TRUE(configuration_.set(std::string(config::kChannelHash.name), "true").ok());
  for (const auto& [name, value] : options.configuration)
    EXPECT_TRUE(configuration_.set(name, value).ok());
  job_manager_ = std::make_unique<JobManagerRunner>(
      JobManagerRunner::Options{configuration_, kAnyPort, directory() + "/jobmanager", {}},
      transport_, *clock_, *files_, nullptr);
  control_ = job_manager_->start().value();
  for (const std::string& name : names_) add_task_manager(name);
  client_ =
      ControlClient::connect({.job_manager = control_, .secret = ""}, transport_, *clock_).value();
}

ThreadCluster::~ThreadCluster() {
  client_.reset();
  task_managers_.clear();
  job_manager_.reset();
  EXPECT_TRUE(files_->remove_all(directory()).ok());
}

JobId ThreadCluster::submit(const Submission& submission) {
  EXPECT_TRUE(client_->put_blob(submission.module_hash, kModuleBytes).ok());
  return client_->submit(submission).value();
}

JobReport ThreadCluster::wait_for(const JobId& job) {
  while (true) {
    JobReport report = client_->get(job).value();
    if (is_terminal(report.state) && !report.tidying) return report;
  }
}

bool ThreadCluster::nothing_is_spilled() {
  const auto is_empty = [this](const std::string& task_manager) {
    const auto found = files_->list(directory_ + "/" + task_manager + "/spill");
    return !found.ok() || found->empty();
  };
  for (int round = 0; round < 10'000; ++round) {
    if (std::ranges::all_of(names_, is_empty)) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

std::vector<MetricGroupReading> ThreadCluster::read_metrics() {
  std::vector<MetricGroupReading> all;
  for (const auto& one : task_managers_) {
    for (MetricGroupReading& group : one->metrics()->read(clock_->now()))
      all.push_back(std::move(group));
  }
  return all;
}

void ThreadCluster::add_task_manager(const std::string& name) {
  TaskManagerRunner::Options options;
  options.configuration = configuration_;
  options.job_manager = control_;
  options.bind = kAnyPort;
  options.name = name;
  options.state_directory = directory() + "/" + name;
  options.slots = slots_;
  task_managers_.push_back(
      TaskManagerRunner::start(options, transport_, *clock_, *files_, modules_, nullptr).value());
}

Submission submission_of(JobModule& module, std::vector<std::string> arguments) {
  Submission submission;
  submission.name = "word_count";
  submission.module_hash = content_hash(kModuleBytes);
  submission.build.parallelism = kParallelism;
  submission.build.configuration["source.file.split-size"] = "4 kb";
  submission.build.arguments = std::move(arguments);
  const auto result = module.build(submission.build);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  const auto& built = result.value();
  JobGraphOptions options;
  options.parallelism = kParallelism;
  submission.graph = build_job_graph(built->graph(), options).value();
  submission.fingerprint = fingerprint_of(built->graph());
  return submission;
}

}  // namespace freshet::testing
