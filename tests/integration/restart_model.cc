#include "tests/integration/restart_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

namespace freshet::testing {

namespace {

/// The value of ` key=`; empty without one.
std::string value_of(std::string_view line, std::string_view key) {
  const std::string before = fmt::format(" {}=", key);
  const size_t at = line.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

bool is_event(std::string_view line, std::string_view event) {
  return line.find(fmt::format(" {} ", event)) != std::string_view::npos;
}

struct Attempt {
  std::pair<uint32_t, uint32_t> name;
  uint32_t number = 0;
};

/// As `1/3#0`.
std::optional<Attempt> attempt_of(std::string_view line) {
  Attempt attempt;
  const int read = std::sscanf(value_of(line, "attempt").c_str(), "%u/%u#%u", &attempt.name.first,
                               &attempt.name.second, &attempt.number);
  return read == 3 ? std::optional(attempt) : std::nullopt;
}

}  // namespace

RestartModel::RestartModel(std::string job, std::vector<uint32_t> parallelism)
    : job_(std::move(job)) {
  for (const uint32_t subtasks : parallelism) stages_.emplace_back(subtasks);
}

void RestartModel::read(std::string_view line) {
  if (is_event(line, "task_manager_lost"))
    return on_task_manager_lost(value_of(line, "task_manager"));
  if (value_of(line, "job") != job_) return;
  if (is_event(line, "partitions_released"))
    return on_released(static_cast<uint32_t>(std::stoul(value_of(line, "dataset"))));
  if (is_event(line, "job_restarts") && !expected_) expect_restart(failed_, lost_);
  const std::optional<Attempt> attempt = attempt_of(line);
  if (!attempt) return;
  const Name name = attempt->name;
  if (is_event(line, "task_deployed"))
    on_deployed(name, attempt->number, value_of(line, "task_manager"));
  else if (is_event(line, "task_state") && value_of(line, "state") == "END_OF_DATA")
    on_end_of_data(name);
  else if (is_event(line, "task_failed"))
    failed_.insert(name);
  else if (is_event(line, "output_lost"))
    lost_.push_back(name);
  else if (is_event(line, "output_differs"))
    on_output_differs(name);
  else if (is_event(line, "task_restarts"))
    seen_.insert(name);
}

void RestartModel::on_deployed(Name name, uint32_t attempt, const std::string& place) {
  compare();
  Task& task = at(name);
  const uint32_t next = task.begun ? task.attempt + 1 : 0;
  if (task.begun && !task.restarts)
    problems_.push_back(fmt::format("{} is deployed again, and nothing asked for it", name));
  if (attempt != next)
    problems_.push_back(fmt::format("{} has attempt {} and not {}", name, attempt, next));
  if (name.first > 0) {
    for (const Task& producer : stages_[name.first - 1]) {
      if (!producer.ended || producer.lost || producer.restarts)
        problems_.push_back(fmt::format("{} runs before its inputs are complete", name));
    }
  }
  task = {attempt, true, false, false, false, place};
}

void RestartModel::on_end_of_data(Name name) {
  compare();
  at(name).ended = true;
}

void RestartModel::on_released(uint32_t stage) {
  compare();
  for (const Task& consumer : stages_[stage + 1]) {
    if (!consumer.ended || consumer.restarts)
      problems_.push_back(fmt::format("what stage {} made is released while it is wanted", stage));
  }
  for (Task& producer : stages_[stage]) producer.lost = true;
}

void RestartModel::on_task_manager_lost(const std::string& place) {
  compare();
  std::set<Name> failed;
  std::vector<Name> lost;
  bool all_ended = true;
  for (uint32_t s = 0; s < stages_.size(); s++) {
    for (uint32_t i = 0; i < stages_[s].size(); i++) {
      const Task& task = stages_[s][i];
      all_ended = all_ended && task.ended && !task.restarts;
      if (!task.begun || task.place != place) continue;
      if (task.ended)
        lost.emplace_back(s, i);
      else if (!task.restarts)
        failed.insert({s, i});
    }
  }
  if (!all_ended) expect_restart(std::move(failed), lost);  // Else it publishes its results.
}

/// All that have begun to read what the attempt before made run again.
void RestartModel::on_output_differs(Name name) {
  compare();
  at(name).ended = true;
  std::set<Name> misled;
  for (uint32_t i = 0; i < stages_[name.first + 1].size(); i++) {
    if (stages_[name.first + 1][i].begun) misled.insert({name.first + 1, i});
  }
  expect_restart(std::move(misled), {});
}

bool RestartModel::is_wanted(Name name) const {
  if (name.first + 1 == stages_.size()) return false;
  const auto& consumers = stages_[name.first + 1];
  return std::any_of(consumers.begin(), consumers.end(),
                     [](const Task& task) { return !task.ended || task.restarts; });
}

void RestartModel::expect_restart(std::set<Name> failed, const std::vector<Name>& lost) {
  for (const Name& name : lost) at(name).lost = true;
  for (const Name& name : lost) {
    if (is_wanted(name)) failed.insert(name);
  }
  close(&failed);
  if (failed.empty()) return;
  expected_ = std::move(failed);
  rounds_++;
}

void RestartModel::close(std::set<Name>* plan) const {
  for (size_t before = ~size_t{0}; before != plan->size();) {
    before = plan->size();
    for (const auto& [stage, subtask] : std::set<Name>(*plan)) {
      if (stage > 0) {
        for (uint32_t p = 0; p < stages_[stage - 1].size(); p++) {
          if (stages_[stage - 1][p].lost) plan->insert({stage - 1, p});
        }
      }
      if (stage + 1 == stages_.size()) continue;
      for (uint32_t c = 0; c < stages_[stage + 1].size(); c++) {
        const Task& task = stages_[stage + 1][c];
        if (task.begun && (!task.ended || task.restarts)) plan->insert({stage + 1, c});
      }
    }
  }
}

/// When the lines of a round are over.
void RestartModel::compare() {
  const std::set<Name> expected = std::exchange(expected_, std::nullopt).value_or(std::set<Name>());
  if (seen_ != expected)
    problems_.push_back(fmt::format("{} run again, and not {}", seen_, expected));
  if (!seen_.empty()) {
    for (auto& stage : stages_) {
      for (const Task& task : stage) spared_ += task.begun && !task.restarts;
    }
  }
  for (const Name& name : seen_) {
    Task& task = at(name);
    spared_ -= task.begun && !task.restarts;
    restarted_ += !task.restarts;
    task.restarts = true;
    task.lost = task.lost || task.ended;
  }
  seen_.clear();
  failed_.clear();
  lost_.clear();
}

std::vector<std::string> RestartModel::problems() const {
  std::vector<std::string> problems = problems_;
  for (uint32_t s = 0; s < stages_.size(); s++) {
    for (uint32_t i = 0; i < stages_[s].size(); i++) {
      const Task& task = stages_[s][i];
      if (!task.ended || task.restarts)
        problems.push_back(fmt::format("{}/{} has not ended", s, i));
    }
  }
  return problems;
}

}  // namespace freshet::testing
