#include "runtime/chaos/experiment.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/app/private_directory.h"
#include "runtime/chaos/output_check.h"
#include "runtime/chaos/samples.h"
#include "runtime/chaos/timeline.h"

namespace freshet::chaos {

namespace {

constexpr std::string_view kStrategyOption = "jobmanager.execution.failover-strategy=";

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Of one experiment, while it goes on.
class Course {
 public:
  Course(Experiment::Options& options, ProcessHost& processes, FileSystem& files,
         const Clock& clock, SignalWaiter& signals)
      : options_(options), processes_(processes), files_(files), clock_(clock), signals_(signals) {}

  Result<ChaosRecord> go() {
    ChaosRecord& record = options_.record;
    RETURN_IF_ERROR(check_outputs());
    JobRun::Ending reference;
    if (!options_.checker) {
      ASSIGN_OR_RETURN(reference, run_undisturbed());
    }
    if (reference.interrupted) {
      record.interrupted = true;
      record.exit_code = 2;
      return std::move(record);
    }
    for (const std::string& strategy : options_.strategies) {
      RETURN_IF_ERROR(run_broken(strategy, reference));
      if (record.interrupted) break;
    }
    for (const RunRecord& run : record.runs)
      record.exit_code = worse(record.exit_code, run.exit_code);
    return std::move(record);
  }

  /// What was put aside goes.
  ~Course() {
    for (const std::string& path : aside_) static_cast<void>(files_.remove_all(path));
  }

 private:
  /// 1 tells more than 2.
  static int worse(int a, int b) { return a == 1 || b == 1 ? 1 : std::max(a, b); }

  Status check_outputs() {
    for (const SinkOutput& output : options_.outputs) {
      if (!files_.info(output.directory).ok()) continue;
      return failed_precondition(
          fmt::format("{} is there already; the job makes it anew: remove it, or name another "
                      "directory",
                      output.directory));
    }
    return Status();
  }

  JobRun::Options run_options(const std::string& name) const {
    JobRun::Options run = options_.run;
    run.cluster.directory = options_.directory + "/" + name;
    return run;
  }

  Result<JobRun::Ending> run_undisturbed() {
    options_.say("Running the job undisturbed, for its result.");
    JobRun::Options run = run_options("undisturbed");
    run.plan.clear();
    auto ending = JobRun::run(run, processes_, files_, clock_, signals_);
    if (!ending.ok()) return ending;
    if (ending->interrupted) {
      drop_outputs();
      return ending;
    }
    if (!ending->status.ok()) {
      drop_outputs();
      return ending->status.with_context("the job fails by itself, undisturbed");
    }
    options_.say(fmt::format("It took {:.1f} s.", seconds(ending->ended - ending->submitted)));
    RETURN_IF_ERROR(put_aside());
    return ending;
  }

  static double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  /// What the undisturbed run published, out of the way of the next one, on the same disk.
  Status put_aside() {
    for (size_t i = 0; i < options_.outputs.size(); i++) {
      const std::string& from = options_.outputs[i].directory;
      const std::string name = from.substr(from.rfind('/') + 1);
      const std::string to =
          fmt::format("{}/.{}.undisturbed-{}-{}", parent_of(from), name, own_process().pid, i);
      RETURN_IF_ERROR(files_.rename(from, to));
      aside_.push_back(to);
    }
    return Status();
  }

  /// Of a run that is not compared with anything.
  void drop_outputs() {
    for (const SinkOutput& output : options_.outputs)
      static_cast<void>(files_.remove_all(output.directory));
  }

  Status run_broken(const std::string& strategy, const JobRun::Ending& reference) {
    if (!options_.record.runs.empty()) drop_outputs();
    options_.say(fmt::format("Running it with {} planned fault{}, strategy {}.",
                             options_.run.plan.size(), options_.run.plan.size() == 1 ? "" : "s",
                             strategy));
    JobRun::Options run = run_options("broken-" + strategy);
    run.cluster.settings.insert(run.cluster.settings.end(),
                                {"-D", std::string(kStrategyOption) + strategy});
    run.cluster.settings.insert(run.cluster.settings.end(), options_.broken_settings.begin(),
                                options_.broken_settings.end());
    run.on_fired = [&](const InjectedFault& injected) {
      options_.say(fmt::format("{:>4}  {}{}", injected.planned.number, injected.planned.to_string(),
                               injected.victim.empty() ? "" : ": " + injected.victim));
    };
    ASSIGN_OR_RETURN(const JobRun::Ending ending,
                     JobRun::run(run, processes_, files_, clock_, signals_));
    options_.record.interrupted = ending.interrupted;
    RunRecord record = record_of(ending);
    record.strategy = strategy;
    record.reference_length = to_millis(reference.ended - reference.submitted);
    if (ending.status.ok()) {
      RETURN_IF_ERROR(compare(record.verdict));
    } else {
      record.verdict.summary = ending.status.message();
      drop_outputs();
    }
    record.exit_code = exit_code_of(record, ending.interrupted);
    options_.record.runs.push_back(std::move(record));
    return Status();
  }

  RunRecord record_of(const JobRun::Ending& ending) const {
    RunRecord record;
    if (ending.job) {
      record.job_state = to_string(ending.job->state);
      record.tasks = ending.job->tasks;
      record.restarts = ending.job->restarts;
    }
    record.length = to_millis(ending.ended - ending.submitted);
    for (const InjectedFault& injected : ending.faults)
      record.faults.push_back(record_of(injected, ending));
    if (!ending.status.ok()) record.problem = ending.status.message();
    tell_what_followed(ending, record);
    return record;
  }

  static void tell_what_followed(const JobRun::Ending& ending, RunRecord& record) {
    Timeline timeline(ending.id.to_string(), ending.submitted_epoch);
    timeline.read_all(ending.job_manager_log);
    std::vector<TimedFault> fired;
    for (const InjectedFault& injected : ending.faults) {
      if (injected.fired) fired.push_back(fired_of(injected, ending));
    }
    const std::vector<FaultOutcome> outcomes = timeline.outcomes(fired, ending.samples);
    for (size_t i = 0; i < fired.size(); i++) {
      for (FaultRecord& fault : record.faults) {
        if (fault.number == fired[i].number) add(outcomes[i], fault);
      }
    }
    if (ending.status.ok()) merge_unfinished(record);
    record.restarted = timeline.restarts();
    record.series = series_of(ending.samples, ending.submitted_epoch);
    record.scheduled = std::any_of(record.series.begin(), record.series.end(),
                                   [](const SeriesPoint& point) { return point.latency; });
  }

  /// A job that has FINISHED has recovered from everything. What was under way when the next fault
  /// came was made good with that.
  static void merge_unfinished(RunRecord& record) {
    for (FaultRecord& fault : record.faults) {
      if (fault.end != FaultEnd::kNotRecovered) continue;
      const FaultRecord* next = nullptr;
      for (const FaultRecord& other : record.faults) {
        const bool later = other.fired > fault.fired && other.end == FaultEnd::kRecovered;
        if (later && (next == nullptr || other.fired < next->fired)) next = &other;
      }
      fault.end = FaultEnd::kMerged;
      fault.merged_with = next == nullptr ? 0 : next->number;
      fault.why.clear();
    }
  }

  static void add(const FaultOutcome& outcome, FaultRecord& fault) {
    fault.end = outcome.end;
    fault.merged_with = outcome.merged_with;
    fault.times = outcome.times;
    if (!outcome.job_state.empty()) fault.job_state = outcome.job_state;
    if (!outcome.why.empty()) fault.why = outcome.why;
    fault.tasks_restarted = outcome.tasks_restarted;
    fault.records_reprocessed = outcome.records_reprocessed;
    fault.restarted = outcome.restarted;
  }

  static TimedFault fired_of(const InjectedFault& injected, const JobRun::Ending& ending) {
    const auto epoch = [&](TimePoint at) {
      return ending.submitted_epoch + to_millis(at - ending.submitted);
    };
    const Fault& fault = injected.planned.fault;
    TimedFault fired;
    fired.number = injected.planned.number;
    fired.at = epoch(*injected.fired);
    if (fault.lasts > Duration(0) && injected.healed) fired.lifted = epoch(*injected.healed);
    fired.task = injected.task;
    const FaultSubject subject = info_of(fault.kind).subject;
    if (subject == FaultSubject::kLink) {
      fired.processes = {fault.link.from.to_string(), fault.link.to.to_string()};
    } else if (subject != FaultSubject::kTask) {
      const ProcessName process = injected.process.value_or(fault.process);
      if (!process.is_any()) fired.processes = {process.to_string()};
    }
    return fired;
  }

  static FaultRecord record_of(const InjectedFault& injected, const JobRun::Ending& ending) {
    const auto since_start = [&](TimePoint at) { return to_millis(at - ending.submitted); };
    FaultRecord record;
    record.number = injected.planned.number;
    record.kind = info_of(injected.planned.fault.kind).name;
    record.target = injected.victim.empty() ? injected.planned.fault.target() : injected.victim;
    record.text = injected.planned.fault.to_string();
    if (injected.planned.at && ending.running)
      record.planned = since_start(*ending.running + *injected.planned.at);
    if (injected.fired) record.fired = since_start(*injected.fired);
    if (injected.healed) record.lifted = since_start(*injected.healed);
    record.why = injected.why_not;
    record.job_state = injected.job_state;
    record.end = injected.fired ? FaultEnd::kHarmless : FaultEnd::kNotFired;
    return record;
  }

  Status compare(VerdictRecord& verdict) {
    if (options_.checker) {
      ask_checker(verdict);
      return Status();
    }
    verdict.known = true;
    verdict.exact = true;
    verdict.method = "compared with an undisturbed run";
    for (size_t i = 0; i < options_.outputs.size(); i++) {
      ASSIGN_OR_RETURN(const OutputVerdict output,
                       compare_outputs(aside_[i], options_.outputs[i].directory, files_));
      add(options_.outputs[i].name, output, verdict);
    }
    return Status();
  }

  void ask_checker(VerdictRecord& verdict) {
    verdict.method = "judged by the checker of the job";
    const auto judged = options_.checker();
    verdict.known = judged.ok();
    if (!judged.ok()) {
      verdict.summary = judged.status().message();
      return;
    }
    verdict.exact = true;
    for (const OutputVerdict& output : judged->outputs) add(output.name, output, verdict);
  }

  static void add(const std::string& name, const OutputVerdict& output, VerdictRecord& verdict) {
    verdict.exact = verdict.exact && output.exact();
    verdict.expected += output.expected_records;
    verdict.seen += output.actual_records;
    verdict.lost += output.count(RecordFault::kLost);
    verdict.doubled += output.count(RecordFault::kDoubled);
    verdict.altered += output.count(RecordFault::kAltered);
    verdict.invented += output.count(RecordFault::kInvented);
    if (!verdict.summary.empty()) verdict.summary += "; ";
    verdict.summary += fmt::format("{}: {}", name, output.summary());
    for (const WrongRecord& wrong : output.shown) {
      const bool altered = wrong.fault == RecordFault::kAltered;
      verdict.examples.push_back({std::string(to_string(wrong.fault)),
                                  wrong.expected.empty() ? wrong.actual : wrong.expected,
                                  altered ? wrong.actual : ""});
    }
  }

  Experiment::Options& options_;
  ProcessHost& processes_;
  FileSystem& files_;
  const Clock& clock_;
  SignalWaiter& signals_;
  std::vector<std::string> aside_;  // Parallel to the outputs.
};

}  // namespace

Result<ChaosRecord> Experiment::run(Options options, ProcessHost& processes, FileSystem& files,
                                    const Clock& clock, SignalWaiter& signals) {
  RETURN_IF_ERROR(make_private_directory(options.directory));
  Result<ChaosRecord> record = Course(options, processes, files, clock, signals).go();
  const bool failed = !record.ok() || (!record->interrupted && record->exit_code != 0);
  if (options.keep || failed) {
    options.say(fmt::format("The logs of all processes are in {}", options.directory));
  } else {
    static_cast<void>(files.remove_all(options.directory));
  }
  return record;
}

int exit_code_of(const RunRecord& run, bool interrupted) {
  if (interrupted) return 2;
  if (run.job_state != "FINISHED" || (run.verdict.known && !run.verdict.exact)) return 1;
  const auto any = [&](FaultEnd end) {
    return std::any_of(run.faults.begin(), run.faults.end(),
                       [end](const FaultRecord& fault) { return fault.end == end; });
  };
  if (any(FaultEnd::kNotRecovered)) return 1;
  return any(FaultEnd::kNotFired) || !run.verdict.known ? 2 : 0;
}

}  // namespace freshet::chaos
