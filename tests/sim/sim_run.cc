#include "tests/sim/sim_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/sim/sim_program.h"

namespace freshet::sim {

namespace {

constexpr Duration kLimit = 10min;
constexpr uint32_t kFaults = 3;
constexpr Duration kFaultsSpan = 100ms;
constexpr size_t kLastLines = 40;

bool is_hidden(const std::string& path) { return path.find("/.") != std::string::npos; }

}  // namespace

SimRun::SimRun(const SimJob& job, const SimCluster::Options& options)
    : job_(job), cluster_(options) {
  cluster_.submit(job_);
}

SimRun::~SimRun() {
  for (const auto& [mark, times] : world().fault_plan().fired()) {
    SimProgram::get().fired[mark] += times;
  }
}

void SimRun::break_things() {
  ASSERT_TRUE(cluster_.run_until_ready(1min)) << last_lines();
  world().fault_plan().set_chance(400, 2);
  cluster_.break_things(kFaults, kFaultsSpan);
  world().queue().run_until(world().queue().now() + kFaultsSpan);
}

void SimRun::expect_exactly_once() {
  ASSERT_TRUE(cluster_.run_until_ended(kLimit)) << last_lines();
  EXPECT_EQ(cluster_.job_state(), JobState::kFinished) << cluster_.job_cause().to_string();
  EXPECT_EQ(output(), job_.expected);
  const Result<size_t> replayed = cluster_.replay_tasks();
  EXPECT_TRUE(replayed.ok()) << replayed.status().to_string();
  if (replayed.ok()) tasks_replayed_ = *replayed;
  EXPECT_EQ(cluster_.hosted_tasks(), 0u);
  // What a job left hidden that the JobManager forgot may stay.
  if (cluster_.submissions() <= 1) {
    EXPECT_THAT(output_paths(), testing::Each(testing::ResultOf(is_hidden, false)));
  }
  EXPECT_THAT(cluster_.problems(), testing::IsEmpty());
}

std::vector<std::string> SimRun::output_paths() {
  std::vector<std::string> paths;
  for (const auto& [path, content] : cluster_.files().files()) {
    if (path.starts_with(job_.output + "/")) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> SimRun::output() {
  std::vector<std::string> lines;
  for (const std::string& path : output_paths()) {
    if (is_hidden(path)) continue;
    std::istringstream content(cluster_.files().files().at(path));
    for (std::string line; std::getline(content, line);) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

uint64_t SimRun::faults() {
  return cluster_.faults_injected() + world().fault_plan().fired_count();
}

std::string SimRun::last_lines() {
  const std::vector<std::string>& lines = world().log().lines();
  std::string text;
  for (size_t i = lines.size() < kLastLines ? 0 : lines.size() - kLastLines; i < lines.size(); ++i)
    text += lines[i] + '\n';
  return text;
}

}  // namespace freshet::sim
