#include "runtime/chaos/recovery_rounds.h"

#include <algorithm>
#include <utility>

namespace freshet::chaos {

namespace {

using Task = RecoveryRound::Task;

bool is_over(const std::string& state) {
  return state == "CANCELED" || state == "FAILED" || state == "FINISHED";
}

bool has_started(const std::string& state) {
  return state == "RUNNING" || state == "END_OF_DATA" || state == "FINISHED";
}

/// Of all tasks that could start at once; none when one of them lacks it.
template <class Field>
std::optional<EpochMillis> last_of(const std::map<SubtaskId, Task>& tasks, Field Task::*field,
                                   bool with_later) {
  std::optional<EpochMillis> last;
  for (const auto& [subtask, task] : tasks) {
    if (task.later && !with_later) continue;
    if (!(task.*field)) return std::nullopt;
    last = std::max(last.value_or(0), *(task.*field));
  }
  return last;
}

class Rounds {
 public:
  void read(const JobEvent& event, size_t index) {
    switch (event.kind) {
      case JobEvent::Kind::kJobState:
        restarting_ = false;
        break;
      case JobEvent::Kind::kTasksFailed:
        cause_ = event.text;
        break;
      case JobEvent::Kind::kJobRestarts:
        on_restart(event, index);
        break;
      case JobEvent::Kind::kTaskRestarts:
        on_task_restarts(event, index);
        break;
      case JobEvent::Kind::kTaskDeployed:
        on_deployed(event);
        break;
      case JobEvent::Kind::kTaskState:
        on_state(event);
        break;
      default:
        break;
    }
  }

  std::vector<RecoveryRound> take() { return std::move(rounds_); }

 private:
  void on_restart(const JobEvent& event, size_t index) {
    if (!restarting_) {
      RecoveryRound round;
      round.begun = event.at;
      round.first_event = index;
      round.cause = cause_;
      rounds_.push_back(std::move(round));
    }
    restarting_ = true;
    some_ended_ = false;
    rounds_.back().last_event = index;
  }

  void on_task_restarts(const JobEvent& event, size_t index) {
    if (rounds_.empty()) return;
    for (RecoveryRound& round : rounds_) {
      const auto task = round.tasks.find(event.subtask);
      if (&round == &rounds_.back() || task == round.tasks.end()) continue;
      task->second.again = task->second.again || !task->second.running;
    }
    RecoveryRound& round = rounds_.back();
    round.last_event = index;
    Task task;
    task.attempt = event.attempt;
    if (is_over(states_[event.subtask])) task.gone = event.at;
    round.tasks[event.subtask] = task;
  }

  void on_deployed(const JobEvent& event) {
    Task* const task = latest(event.subtask);
    if (task == nullptr || event.attempt <= task->attempt || task->deployed) return;
    task->deployed = event.at;
    task->later = some_ended_;
  }

  void on_state(const JobEvent& event) {
    states_[event.subtask] = event.text;
    Task* const task = latest(event.subtask);
    if (task == nullptr) return;
    const bool next = event.attempt > task->attempt;
    if (!task->gone && (next || is_over(event.text))) task->gone = event.at;
    if (next && has_started(event.text) && !task->running) task->running = event.at;
    if (next && event.text == "END_OF_DATA") some_ended_ = true;
  }

  /// Of the latest round that restarts it.
  Task* latest(SubtaskId subtask) {
    for (auto round = rounds_.rbegin(); round != rounds_.rend(); ++round) {
      const auto task = round->tasks.find(subtask);
      if (task != round->tasks.end()) return &task->second;
    }
    return nullptr;
  }

  std::vector<RecoveryRound> rounds_;
  std::map<SubtaskId, std::string> states_;
  std::string cause_;
  bool restarting_ = false;  // The last round takes more.
  bool some_ended_ = false;  // A task of the last round has ended again.
};

}  // namespace

std::optional<EpochMillis> RecoveryRound::all_gone() const {
  return last_of(tasks, &Task::gone, true);
}

std::optional<EpochMillis> RecoveryRound::all_deployed() const {
  return last_of(tasks, &Task::deployed, false);
}

std::optional<EpochMillis> RecoveryRound::all_running() const {
  return last_of(tasks, &Task::running, false);
}

bool RecoveryRound::overtaken() const {
  return std::any_of(tasks.begin(), tasks.end(), [](const auto& one) { return one.second.again; });
}

std::vector<RecoveryRound> recovery_rounds(const std::vector<JobEvent>& events) {
  Rounds rounds;
  for (size_t i = 0; i < events.size(); i++) rounds.read(events[i], i);
  return rounds.take();
}

}  // namespace freshet::chaos
