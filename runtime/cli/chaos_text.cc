#include "runtime/cli/chaos_text.h"

#include <fmt/format.h>

#include "runtime/base/faults.h"
#include "runtime/chaos/fault.h"
#include "runtime/cli/terminal_text.h"

namespace freshet::cli {

namespace {

std::string target_of(chaos::FaultSubject subject) {
  switch (subject) {
    case chaos::FaultSubject::kProcess:
      return "PROCESS";
    case chaos::FaultSubject::kTask:
      return "TASK";
    case chaos::FaultSubject::kLink:
      return "LINK";
    case chaos::FaultSubject::kDisk:
      return "TASKMANAGER";
    case chaos::FaultSubject::kFile:
      return "spill|module";
    case chaos::FaultSubject::kMark:
      return "NAME";
  }
  return "";
}

std::string time_of(const std::optional<chaos::RunMillis>& at) {
  return at ? fmt::format("{:.3f} s", static_cast<double>(*at) / 1000) : "-";
}

std::string phase_of(const std::optional<int64_t>& millis) {
  return millis ? fmt::format("{} ms", *millis) : "-";
}

std::string faults_of(const chaos::RunRecord& run) {
  std::string text =
      fmt::format("{:>4}  {:>9}  {:<13}  {:>8}  {:>8}  {:>9}  {:>5}  {}\n", "NO", "FIRED", "END",
                  "DETECT", "RUNNING", "CAUGHT UP", "TASKS", "FAULT");
  for (const chaos::FaultRecord& fault : run.faults) {
    text += fmt::format("{:>4}  {:>9}  {:<13}  {:>8}  {:>8}  {:>9}  {:>5}  {}", fault.number,
                        time_of(fault.fired), to_string(fault.end), phase_of(fault.times.detect),
                        phase_of(fault.times.restore), phase_of(fault.times.caught_up),
                        fault.tasks_restarted, terminal_line(fault.text));
    if (!fault.why.empty()) text += fmt::format(": {}", terminal_line(fault.why));
    text += '\n';
  }
  return text;
}

std::string verdict_of(const chaos::RunRecord& run) {
  const chaos::VerdictRecord& verdict = run.verdict;
  std::string text;
  if (!verdict.known) {
    text = fmt::format("NOTHING PROVEN: {}\n", terminal_line(verdict.summary));
  } else if (verdict.exact) {
    text = fmt::format("EXACTLY ONCE: {} records, {}\n", verdict.seen, verdict.method);
  } else {
    text = fmt::format("WRONG: {} lost, {} doubled, {} altered, {} invented of {} records, {}\n",
                       verdict.lost, verdict.doubled, verdict.altered, verdict.invented,
                       verdict.expected, verdict.method);
    for (const auto& example : verdict.examples) {
      text += fmt::format("  {}: {}", example.what, terminal_line(example.record));
      if (!example.instead.empty())
        text += fmt::format(" became {}", terminal_line(example.instead));
      text += '\n';
    }
  }
  if (!run.problem.empty()) text += terminal_line(run.problem) + "\n";
  return text;
}

}  // namespace

std::string list_of_faults() {
  std::string text = "Faults, as keys of a plan:\n";
  for (const chaos::FaultKindInfo& info : chaos::fault_kinds()) {
    text += fmt::format("  {:<26}  {}\n", fmt::format("{}: {}", info.name, target_of(info.subject)),
                        info.meaning);
  }
  text +=
      "\nPROCESS is jobmanager, taskmanager-1 and so on, or taskmanager: any of them.\n"
      "TASK is task:VERTEX/SUBTASK; what is left out is any that runs.\n"
      "LINK is PROCESS <-> PROCESS, or -> for one direction.\n"
      "\nMarks, and what has happened when they are passed:\n";
  for (const FaultMark& mark : fault_marks())
    text += fmt::format("  {:<26}  {}\n", mark.name, mark.meaning);
  return text;
}

std::string text_of(const chaos::ChaosRecord& record) {
  std::string text;
  for (const chaos::RunRecord& run : record.runs) {
    const chaos::RunSummary summary = summarize(run);
    const std::string undisturbed =
        run.reference_length == 0 ? ""
                                  : fmt::format(" (undisturbed {:.1f} s)",
                                                static_cast<double>(run.reference_length) / 1000);
    text +=
        fmt::format("\nStrategy {}: job {} after {:.1f} s{}, {} restarts, {} of {} faults fired\n",
                    run.strategy, run.job_state.empty() ? "not there" : run.job_state,
                    static_cast<double>(run.length) / 1000, undisturbed, run.restarts,
                    summary.fired, run.faults.size());
    text += faults_of(run);
    text += verdict_of(run);
  }
  if (record.interrupted) text += "Interrupted.\n";
  return text;
}

}  // namespace freshet::cli
