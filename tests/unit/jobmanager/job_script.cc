#include "tests/unit/jobmanager/job_script.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace freshet {

namespace {

TaskState parse_task_state(const std::string& text) {
  for (uint8_t s = 0; s <= static_cast<uint8_t>(TaskState::kFailed); s++) {
    if (to_string(static_cast<TaskState>(s)) == text) return static_cast<TaskState>(s);
  }
  ADD_FAILURE() << "no task state is called " << text;
  return TaskState::kCreated;
}

std::string rest_of(std::istringstream& words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

void append(JobCommands& to, JobCommands from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

JobScript::JobScript(JobGraph graph, const Configuration& configuration, RegionCycles cycles) {
  auto backoff = make_restart_backoff(configuration, *random_);
  EXPECT_TRUE(backoff.ok());
  JobMaster::Options options{JobId{0, 1}, test_submission(std::move(graph)), 10s};
  options.cycles = cycles;
  job_ = std::make_unique<JobMaster>(std::move(options), std::move(backoff).value());
}

Configuration JobScript::deterministic() {
  Configuration configuration;
  EXPECT_TRUE(configuration.set("restart-strategy.exponential-delay.jitter-factor", "0").ok());
  return configuration;
}

std::vector<std::string> JobScript::run(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  const JobState before = job_->state();
  std::vector<std::string> lines;
  JobCommands commands;
  if (verb == "cancel") {
    auto result = job_->cancel(now_);
    if (result.ok()) commands = std::move(result).value();
    if (!result.ok()) lines.push_back("refused " + result.status().to_string());
  } else if (verb == "fail_by_crash") {
    std::string vertex;
    uint32_t subtask = 0;
    words >> vertex >> subtask;
    const auto target = job_->find_subtask(vertex, subtask);
    auto result = target.ok() ? job_->provoke(now_, *target, ProvokedFailure::kCrash)
                              : Result<JobCommands>(target.status());
    if (result.ok()) commands = std::move(result).value();
    if (!result.ok()) lines.push_back("refused " + result.status().to_string());
  } else {
    commands = dispatch(words, verb);
  }
  for (std::string& text : show(commands)) lines.push_back(std::move(text));
  if (job_->state() != before) lines.push_back("= " + std::string(to_string(job_->state())));
  if (auto broken = invariants_.check_commands(*job_, commands)) lines.push_back("! " + *broken);
  if (auto broken = invariants_.check(*job_)) lines.push_back("! " + *broken);
  return lines;
}

std::vector<std::string> JobScript::run_all(const std::vector<std::string>& lines) {
  std::vector<std::string> last;
  for (const std::string& line : lines) {
    last = run(line);
    for (const std::string& text : last) EXPECT_NE(text[0], '!') << line << ": " << text;
  }
  return last;
}

JobCommands JobScript::dispatch(std::istringstream& words, const std::string& verb) {
  uint64_t id = 0;
  if (verb == "start") return job_->start(now_);
  if (verb == "slots") return slots(words);
  if (verb == "hosted") return hosted(words);
  if (verb == "state") return task_state(words, Status());
  if (verb == "fail") return task_state(words, unavailable(""));
  if (verb == "refuse") return task_state(words, invalid_argument(""));
  if (verb == "all") return all(parse_task_state(rest_of(words)));
  if (verb == "wait" && words >> id) return wait(Duration(id * 1'000'000));
  if (verb == "register" && words >> id) {
    TaskManagerInfo info;
    info.id = TaskManagerId{id};
    info.name = "taskmanager-" + std::to_string(id);
    info.data_host = "10.0.0.7";
    info.data_port = static_cast<uint16_t>(7000 + id);
    return job_->on_task_manager_registered(now_, info);
  }
  if (verb == "lose" && words >> id) {
    return job_->on_task_manager_lost(now_, TaskManagerId{id}, unavailable("gone"));
  }
  if ((verb == "crash" || verb == "provoked") && words >> id) {
    std::optional<TaskManagerId> from;
    CrashReport crash;
    crash.reason = "SIGSEGV at address 0x0";
    crash.attempt = attempt(rest_of(words), from);
    crash.job = crash.attempt->job;
    crash.code_name = "sum";
    crash.provoked = verb == "provoked";
    return job_->on_task_manager_lost(now_, TaskManagerId{id}, crash);
  }
  if (verb == "channels_lost" || verb == "channels_corrupt") {
    std::optional<TaskManagerId> from;
    ChannelsLostReport report;
    report.consumer = attempt(rest_of(words), from);
    report.producer_task_manager = from.value_or(TaskManagerId{});
    report.cause = verb == "channels_lost" ? unavailable("reset by peer") : data_loss("wrong hash");
    return job_->on_channels_lost(now_, place_of(report.consumer), report);
  }
  if (verb == "not_found") {
    std::optional<TaskManagerId> from;
    ChannelsLostReport report;
    std::string consumer;
    words >> consumer >> report.dataset.value >> report.producers.begin >> report.producers.end;
    report.consumer = attempt(consumer, from);
    report.producer_task_manager = TaskManagerId{1};
    report.cause = not_found("a file");
    return job_->on_channels_lost(now_, place_of(report.consumer), report);
  }
  if (verb == "commit_done" && words >> id) {
    uint64_t commit = 0;
    std::string outcome;
    words >> commit >> outcome;
    const Status status = outcome == "ok" ? Status() : resource_exhausted("no space on /out");
    return job_->on_commit_done(now_, TaskManagerId{id}, commit, status);
  }
  ADD_FAILURE() << "cannot understand: " << verb;
  return {};
}

AttemptId JobScript::attempt(const std::string& text, std::optional<TaskManagerId>& from) const {
  unsigned vertex = 0, subtask = 0, number = 0;
  unsigned long task_manager = 0;
  const int read =
      std::sscanf(text.c_str(), "%u/%u#%u@%lu", &vertex, &subtask, &number, &task_manager);
  EXPECT_GE(read, 3) << text;
  if (read == 4) from = TaskManagerId{task_manager};
  return {job_->id(), {VertexId{vertex}, subtask}, number};
}

TaskManagerId JobScript::place_of(const AttemptId& attempt) const {
  const bool known = job_->graph().contains(attempt.subtask);
  return known ? job_->graph().at(attempt.subtask).task_manager : TaskManagerId{1};
}

JobCommands JobScript::task_state(std::istringstream& words, Status cause) {
  std::string text;
  words >> text;
  std::optional<TaskManagerId> from;
  TaskStateReport report;
  report.attempt = attempt(text, from);
  if (cause.ok()) {
    words >> text;
    report.state = parse_task_state(text);
    while (words >> text) {
      if (text.starts_with("made=")) {
        const uint64_t hash = std::stoull(text.substr(5));
        for (const DatasetId dataset : job_->graph().outputs_of(report.attempt.subtask.vertex))
          report.outputs.push_back({dataset, hash});
      } else {
        report.committables.push_back({OperatorId{2}, text});
      }
    }
  } else {
    report.state = TaskState::kFailed;
    report.cause = Status(cause.code(), rest_of(words));
  }
  return job_->on_task_state(now_, from ? *from : place_of(report.attempt), std::move(report));
}

JobCommands JobScript::all(TaskState state) {
  std::vector<std::pair<TaskManagerId, TaskStateReport>> reports;  // Of the attempts before.
  for (uint32_t i = 0; i < job_->graph().task_count(); i++) {
    const Execution& execution = job_->graph().at(i);
    TaskStateReport report;
    report.attempt = {job_->id(), job_->graph().subtask_at(i), execution.attempt};
    report.state = state;
    reports.push_back({execution.task_manager, std::move(report)});
  }
  JobCommands commands;
  for (auto& [from, report] : reports) {
    append(commands, job_->on_task_state(now_, from, std::move(report)));
  }
  return commands;
}

JobCommands JobScript::slots(std::istringstream& words) {
  SlotReport report;
  std::string text;
  while (words >> text) {
    unsigned long task_manager = 0;
    unsigned slot = 0;
    if (std::sscanf(text.c_str(), "cluster=%u", &report.cluster_slots) == 1) continue;
    EXPECT_EQ(std::sscanf(text.c_str(), "%lu:%u", &task_manager, &slot), 2) << text;
    report.slots.push_back(
        {AllocationId{task_manager * 100 + slot + 1}, TaskManagerId{task_manager}, slot});
  }
  report.cluster_slots = std::max(report.cluster_slots, static_cast<uint32_t>(report.slots.size()));
  return job_->on_slots(now_, report);
}

JobCommands JobScript::hosted(std::istringstream& words) {
  uint64_t task_manager = 0;
  words >> task_manager;
  std::vector<AttemptId> attempts;
  std::string text;
  std::optional<TaskManagerId> from;
  while (words >> text) attempts.push_back(attempt(text, from));
  return job_->on_hosted(now_, TaskManagerId{task_manager}, attempts);
}

JobCommands JobScript::wait(Duration duration) {
  JobCommands commands;
  const TimePoint until = now_ + duration;
  for (auto due = job_->deadline(); due && *due <= until; due = job_->deadline()) {
    now_ = std::max(now_, *due);
    append(commands, job_->on_time(now_));
  }
  now_ = until;
  return commands;
}

}  // namespace freshet
