#include "tests/sim/sim_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "runtime/base/configuration.h"
#include "tests/models/restart_model.h"
#include "tests/sim/sim_program.h"

namespace freshet::sim {

namespace {

constexpr const char* kRefusedWrites = "operations that the file server refused";
constexpr const char* kTornFiles = "files torn on the file server";
constexpr const char* kTornDisks = "files and names torn on disks";
constexpr Duration kLimit = 10min;
constexpr Duration kReleaseLimit = 2min;
constexpr uint32_t kFaults = 3;
constexpr Duration kFaultsSpan = 100ms;
constexpr size_t kLastLines = 100;

bool is_hidden(const std::string& path) { return path.find("/.") != std::string::npos; }

bool is_inside(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

/// Every file and directory below `directory`.
void add_paths(FileSystem& files, const std::string& directory, std::vector<std::string>& to) {
  const auto entries = files.list(directory);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    to.push_back(entry.path);
    if (entry.is_directory) add_paths(files, entry.path, to);
  }
}

/// The least that must be compared when all tasks of a job came to their end once.
ReplayCounts least_counts(const JobGraph& graph) {
  ReplayCounts least;
  for (const JobVertex& vertex : graph.vertices) {
    least.attempts += vertex.parallelism;
    if (graph.outputs_of(vertex.id).empty()) least.files += vertex.parallelism;
  }
  for (const JobEdge& edge : graph.edges) {  // Each reader asks its enumerator at least once.
    if (edge.feedback) least.channels += graph.vertices[edge.producer.value].parallelism;
  }
  return least;
}

}  // namespace

std::vector<std::string> kinds_of_damage() {
  std::vector<std::string> kinds = SimChaos::kinds();
  for (const char* kind : {kRefusedWrites, kTornFiles, kTornDisks}) kinds.emplace_back(kind);
  return kinds;
}

std::map<std::string, std::string> patient_configuration() {
  return {{std::string(config::kSlotTimeout.name), "5 min"},
          {std::string(config::kExponentialAttempts.name), "100"}};
}

SimRun::SimRun(const SimJob& job, const SimCluster::Options& options)
    : SimRun(std::vector<SimJob>{job}, options) {}

SimRun::SimRun(std::vector<SimJob> jobs, const SimCluster::Options& options)
    : jobs_(std::move(jobs)), recorded_(options.recorded), cluster_(options), chaos_(cluster_) {
  for (const SimJob& job : jobs_) cluster_.submit(job);
}

SimRun::~SimRun() {
  for (const auto& [mark, times] : world().fault_plan().fired()) {
    SimProgram::get().fired[mark] += times;
  }
  std::map<std::string, uint64_t>& broken = SimProgram::get().broken;
  for (const auto& [kind, times] : chaos_.done()) broken[kind] += times;
  broken[kRefusedWrites] += world().shared().refusals();
  broken[kTornFiles] += world().shared().torn();
  for (const std::unique_ptr<SimProcess>& process : world().processes())
    broken[kTornDisks] += process->host().disk.torn();
}

void SimRun::break_things() {
  ASSERT_TRUE(cluster_.run_until_ready(1min)) << last_lines();
  world().fault_plan().set_chance(400, 2);
  chaos_.start(kFaults, kFaultsSpan);
  world().queue().run_until(world().queue().now() + kFaultsSpan);
}

void SimRun::expect_exactly_once() { expect_end(false); }

void SimRun::expect_exactly_once_or_refused() { expect_end(true); }

bool SimRun::was_refused_with_the_truth(size_t job) {
  if (cluster_.submissions(job) < 2 || cluster_.job_state(job) != JobState::kFailed) return false;
  const std::string why = cluster_.job_cause(job).message();
  if (why.find("has unfinished files of job") != why.npos) return output(job).empty();
  return why.find("exists already") != why.npos && output(job) == jobs_[job].expected;
}

void SimRun::expect_end(bool may_be_refused) {
  ASSERT_TRUE(cluster_.run_until_ended(kLimit)) << last_lines();
  // What was paused or cut off when the jobs ended learns of it later.
  EXPECT_TRUE(
      world().queue().run_until([this] { return cluster_.hosted_tasks() == 0; }, kReleaseLimit))
      << last_lines();
  for (size_t job = 0; job < jobs_.size(); ++job) {
    if (may_be_refused && was_refused_with_the_truth(job)) continue;
    EXPECT_EQ(cluster_.job_state(job), JobState::kFinished)
        << cluster_.job_cause(job).to_string() << '\n'
        << last_lines();
    EXPECT_EQ(output(job), jobs_[job].expected) << jobs_[job].name;
    if (recorded_) expect_replays(job);
    expect_restarts(job);
  }
  // What a job left hidden that the JobManager forgot may stay.
  bool forgotten = false;
  for (size_t job = 0; job < jobs_.size(); ++job)
    forgotten = forgotten || cluster_.submissions(job) > 1;
  if (!forgotten) {
    EXPECT_THAT(leftovers(), testing::IsEmpty());
  }
  EXPECT_THAT(cluster_.problems(), testing::IsEmpty()) << last_lines();
}

void SimRun::expect_replays(size_t job) {
  const Result<ReplayCounts> replayed = cluster_.replay_tasks(job);
  ASSERT_TRUE(replayed.ok()) << replayed.status().to_string();
  tasks_replayed_ += replayed->attempts;
  const ReplayCounts least = least_counts(cluster_.graph(job));
  EXPECT_GE(replayed->attempts, least.attempts);
  EXPECT_GE(replayed->channels, least.channels);
  EXPECT_GE(replayed->files, least.files);
}

/// As its last JobManager took it.
void SimRun::expect_restarts(size_t job) {
  const std::optional<JobId> id = cluster_.job_id(job);
  if (!id) return;
  const std::string submitted = " job_submitted job=" + id->to_string() + " ";
  RestartModel model(id->to_string(), cluster_.graph(job));
  for (const std::string& line : world().log().lines()) {
    if (line.find(submitted) != line.npos)
      model = RestartModel(id->to_string(), cluster_.graph(job));
    model.read(line);
  }
  model.end();
  EXPECT_THAT(model.problems(), testing::IsEmpty()) << last_lines();
  tasks_restarted_ += model.restarted();
  tasks_spared_ += model.spared();
}

std::vector<std::string> SimRun::output_paths(size_t job) {
  std::vector<std::string> paths;
  for (const auto& [path, content] : cluster_.files().files()) {
    if (is_inside(path, jobs_.at(job).output)) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> SimRun::leftovers() {
  std::vector<std::string> all;
  add_paths(cluster_.files(), std::string(kSharedDirectory), all);
  std::erase_if(all, [this](const std::string& path) {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const SimJob& job) {
      const bool output = path == job.output || is_inside(path, job.output);
      return (output && !is_hidden(path)) || path == "/shared/in" || job.inputs.contains(path);
    });
  });
  return all;
}

std::vector<std::string> SimRun::output(size_t job) {
  std::vector<std::string> lines;
  const std::map<std::string, std::string> files = cluster_.files().files();
  for (const std::string& path : output_paths(job)) {
    if (is_hidden(path)) continue;
    std::istringstream content(files.at(path));
    for (std::string line; std::getline(content, line);) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

uint64_t SimRun::faults() { return chaos_.done_count() + world().fault_plan().fired_count(); }

std::string SimRun::last_lines() {
  const std::vector<std::string>& lines = world().log().lines();
  std::string text;
  for (size_t job = 0; job < jobs_.size(); ++job) text += cluster_.describe_unended(job);
  for (size_t i = lines.size() < kLastLines ? 0 : lines.size() - kLastLines; i < lines.size(); ++i)
    text += lines[i] + '\n';
  return text;
}

}  // namespace freshet::sim
