#include "runtime/chaos/timeline.h"

#include <algorithm>
#include <numeric>

#include "runtime/chaos/catching_up.h"

namespace freshet::chaos {

namespace {

constexpr int64_t kLiftedPatience = 1000;  // Milliseconds in which a fault may still be noticed.
constexpr int64_t kOneDecision = 100;      // Between a failure and the restart that it makes.
constexpr size_t kRestartedMax = 100;
constexpr size_t kNone = ~size_t{0};

bool is_failure(JobEvent::Kind kind) {
  using Kind = JobEvent::Kind;
  return kind == Kind::kTaskManagerLost || kind == Kind::kTaskFailed || kind == Kind::kOutputLost ||
         kind == Kind::kJobManagerStarted;
}

bool meets(const std::vector<std::string>& processes, const std::string& name) {
  return processes.empty() ||
         std::find(processes.begin(), processes.end(), name) != processes.end();
}

/// Where a subtask was before an event.
std::string place_before(const std::vector<JobEvent>& events, size_t index, SubtaskId subtask) {
  while (index-- > 0) {
    const JobEvent& event = events[index];
    if (event.kind == JobEvent::Kind::kTaskDeployed && event.subtask == subtask) return event.text;
  }
  return "";
}

bool follows(const std::vector<JobEvent>& events, size_t index, const TimedFault& fault) {
  const JobEvent& event = events[index];
  if (event.at < fault.at || !is_failure(event.kind)) return false;
  if (fault.lifted && event.at > *fault.lifted + kLiftedPatience) return false;
  if (event.kind == JobEvent::Kind::kJobManagerStarted)
    return !fault.task && meets(fault.processes, "jobmanager");
  if (!fault.task) return meets(fault.processes, event.text);
  if (event.kind == JobEvent::Kind::kTaskFailed) return event.subtask == *fault.task;
  return event.kind == JobEvent::Kind::kTaskManagerLost &&
         event.text == place_before(events, index, *fault.task);
}

/// One fault while its outcome is found.
struct Course {
  const TimedFault* fault = nullptr;
  size_t event = kNone;  // By which the JobManager knew.
  size_t round = kNone;
};

class Outcomes {
 public:
  Outcomes(const std::vector<JobEvent>& events, const std::vector<TimedFault>& faults,
           const Samples& samples)
      : events_(events), rounds_(recovery_rounds(events)), samples_(samples) {
    for (const TimedFault& fault : faults) courses_.push_back({&fault});
    for (Course& course : courses_) find_event(&course);
    drop_claims_of_earlier();
    for (Course& course : courses_) find_round(&course);
    owners_.resize(rounds_.size(), kNone);
    for (size_t i = 0; i < courses_.size(); i++) own(i);
  }

  FaultOutcome of(size_t index) const {
    const Course& course = courses_[index];
    FaultOutcome outcome;
    if (course.event == kNone) return outcome;
    const EpochMillis at = course.fault->at;
    outcome.times.detect = events_[course.event].at - at;
    if (course.round == kNone) return without_round(course, outcome);
    const RecoveryRound& round = rounds_[course.round];
    const size_t owner = owners_[course.round];
    if (owner == index && round.begun >= at)  // Others may notice before.
      outcome.times.detect = std::min(*outcome.times.detect, round.begun - at);
    fill_times(course, &outcome.times);
    fill_tasks(round, &outcome);
    if (owner != index) {
      outcome.end = FaultEnd::kMerged;
      outcome.merged_with = courses_[owner].fault->number;
    } else if (outcome.times.restore) {
      outcome.end = FaultEnd::kRecovered;
    } else if (round.overtaken()) {
      outcome.end = FaultEnd::kMerged;
      const size_t next = owner_after(course.round);
      if (next != kNone) outcome.merged_with = courses_[next].fault->number;
    } else {
      outcome.end = FaultEnd::kNotRecovered;
      outcome.why = outcome.times.redeploy ? "its tasks were deployed again and did not get to run"
                                           : "its tasks were not deployed again";
    }
    return outcome;
  }

 private:
  void find_event(Course* course) const {
    for (size_t i = 0; i < events_.size() && course->event == kNone; i++) {
      if (follows(events_, i, *course->fault)) course->event = i;
    }
  }

  /// Of two that claim one event, the earlier did nothing if it was over when the later came.
  void drop_claims_of_earlier() {
    for (Course& one : courses_) {
      for (const Course& other : courses_) {
        const bool both = one.event != kNone && one.event == other.event;
        if (both && one.fault->lifted && *one.fault->lifted < other.fault->at) one.event = kNone;
      }
    }
  }

  /// That which the failure joined or began: it was decided at once.
  void find_round(Course* course) const {
    if (course->event == kNone) return;
    const EpochMillis at = events_[course->event].at;
    for (size_t i = course->event; i < events_.size(); i++) {
      if (events_[i].at > at + kOneDecision) return;
      if (events_[i].kind != JobEvent::Kind::kTaskRestarts) continue;
      for (size_t r = 0; r < rounds_.size() && course->round == kNone; r++) {
        if (rounds_[r].first_event <= i && i <= rounds_[r].last_event) course->round = r;
      }
      return;
    }
  }

  /// A round belongs to who was there first.
  void own(size_t index) {
    if (courses_[index].round == kNone) return;
    size_t& owner = owners_[courses_[index].round];
    if (owner == kNone || courses_[index].fault->at < courses_[owner].fault->at) owner = index;
  }

  size_t owner_after(size_t round) const {
    for (size_t r = round + 1; r < rounds_.size(); r++) {
      if (owners_[r] != kNone) return owners_[r];
    }
    return kNone;
  }

  /// The job failed, or nothing had to restart.
  FaultOutcome without_round(const Course& course, FaultOutcome outcome) const {
    for (size_t i = course.event; i < events_.size(); i++) {
      const JobEvent& event = events_[i];
      const bool at_once = event.at <= events_[course.event].at + kOneDecision;
      const bool fails = event.kind == JobEvent::Kind::kJobState &&
                         (event.text == "FAILING" || event.text == "FAILED");
      if (!at_once || !fails) continue;
      outcome.end = FaultEnd::kNotRecovered;
      outcome.why = "the job failed";
      return outcome;
    }
    if (events_[course.event].kind == JobEvent::Kind::kJobManagerStarted) {
      outcome.end = FaultEnd::kNotRecovered;
      outcome.why = "the new JobManager does not know the job";
    }
    return outcome;
  }

  void fill_times(const Course& course, RecoveryTimes* times) const {
    const RecoveryRound& round = rounds_[course.round];
    int64_t last = *times->detect;
    const auto since = [&](std::optional<EpochMillis> time) -> std::optional<int64_t> {
      if (!time) return std::nullopt;
      last = std::max(last, *time - course.fault->at);
      return last;
    };
    times->cancel = since(round.all_gone());
    times->redeploy = since(round.all_deployed());
    times->restore = since(round.all_running());
    if (!times->restore) return;
    const EpochMillis until =
        course.round + 1 < rounds_.size() ? rounds_[course.round + 1].begun : INT64_MAX;
    const CatchingUp course_of_data(samples_, round, course.fault->at, until);
    times->first_record = since(course_of_data.first_record());
    times->caught_up = since(course_of_data.caught_up());
  }

  void fill_tasks(const RecoveryRound& round, FaultOutcome* outcome) const {
    outcome->tasks_restarted = static_cast<uint32_t>(round.tasks.size());
    outcome->records_reprocessed = records_redone(samples_, round);
    for (const auto& [subtask, task] : round.tasks) {
      if (outcome->restarted.size() == kRestartedMax) return;
      outcome->restarted.push_back(to_string(AttemptId{{}, subtask, task.attempt + 1}));
    }
  }

  const std::vector<JobEvent>& events_;
  const std::vector<RecoveryRound> rounds_;
  const Samples& samples_;
  std::vector<Course> courses_;
  std::vector<size_t> owners_;  // Of rounds: indexes of courses.
};

}  // namespace

Timeline::Timeline(std::string job, EpochMillis start, int64_t start_of_day)
    : start_(start), log_(std::move(job), start, start_of_day) {}

void Timeline::read_all(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    read(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

std::vector<FaultOutcome> Timeline::outcomes(const std::vector<TimedFault>& faults,
                                             const Samples& samples) const {
  const Outcomes found(log_.events(), faults, samples);
  std::vector<FaultOutcome> outcomes;
  for (size_t i = 0; i < faults.size(); i++) {
    outcomes.push_back(found.of(i));
    outcomes.back().job_state = job_state_at(faults[i].at);
  }
  return outcomes;
}

std::vector<RestartRecord> Timeline::restarts() const {
  std::vector<RestartRecord> restarts;
  for (const RecoveryRound& round : recovery_rounds(log_.events())) {
    RestartRecord restart{
        round.begun - start_, {}, static_cast<uint32_t>(round.tasks.size()), round.cause};
    if (const auto running = round.all_running()) restart.ended = *running - start_;
    restarts.push_back(std::move(restart));
  }
  return restarts;
}

std::string Timeline::job_state_at(EpochMillis at) const {
  std::string state;
  for (const JobEvent& event : log_.events()) {
    if (event.kind == JobEvent::Kind::kJobState && event.at <= at) state = event.text;
  }
  return state;
}

}  // namespace freshet::chaos
