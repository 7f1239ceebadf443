#include "runtime/chaos/html_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/chaos/report_style.h"
#include "runtime/chaos/report_text.h"
#include "runtime/chaos/run_plot.h"

namespace freshet::chaos {

namespace {

constexpr size_t kRestartedLength = 60;
constexpr std::string_view kNothing = "–";

struct Headline {
  std::string_view style;  // good, bad, open.
  std::string_view sign;
  std::string title;
  std::string text;
};

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string wrong_records(const VerdictRecord& verdict) {
  std::vector<std::string> parts;
  const auto part = [&](uint64_t count, std::string_view what) {
    if (count == 0) return;
    parts.push_back(parts.empty() ? counted(count, "record") + " " + std::string(what)
                                  : with_commas(count) + " " + std::string(what));
  };
  part(verdict.lost, "lost");
  part(verdict.doubled, "doubled");
  part(verdict.altered, "altered");
  part(verdict.invented, "invented");
  return parts.empty() ? "the output is wrong" : fmt::format("{}", fmt::join(parts, ", "));
}

/// `0/0-3 1/0-1` of `0/0#1`, `0/1#1` and so on.
std::string subtask_ranges(const std::vector<std::string>& attempts) {
  std::string text, vertex;
  uint64_t last = 0;
  bool open = false;  // A range of more than one.
  const auto close = [&] {
    if (std::exchange(open, false)) text += fmt::format("-{}", last);
  };
  for (const std::string& attempt : attempts) {
    if (text.size() > kRestartedLength) return text + " …";
    const std::string of = attempt.substr(0, attempt.find('/'));
    const uint64_t index =
        std::strtoull(attempt.c_str() + std::min(of.size() + 1, attempt.size()), nullptr, 10);
    if (!text.empty() && of == vertex && index == last + 1) {
      open = true;
    } else {
      close();
      text += fmt::format("{}{}/{}", text.empty() ? "" : " ", of, index);
    }
    vertex = of;
    last = index;
  }
  close();
  return text;
}

std::string faults_in_words(const RunRecord& run) {
  const RunSummary summary = summarize(run);
  return fmt::format("{} of {} fired, {} made good", summary.fired,
                     counted(run.faults.size(), "fault"),
                     summary.recovered == summary.fired ? "all" : with_commas(summary.recovered));
}

/// Of the run that went worst.
Headline headline_of(const ChaosRecord& record) {
  const RunRecord* worst = nullptr;
  const auto badness = [](const RunRecord& run) {
    return run.verdict.known && !run.verdict.exact ? 3 : run.exit_code == 1 ? 2 : run.exit_code;
  };
  uint64_t records = 0, faults = 0;
  for (const RunRecord& run : record.runs) {
    if (worst == nullptr || badness(run) > badness(*worst)) worst = &run;
    records = std::max(records, run.verdict.expected);
    faults += run.faults.size();
  }
  if (worst == nullptr) return {"open", "?", "NOTHING RUN", "There was no run."};
  const std::string whose = record.runs.size() > 1 ? "Strategy " + worst->strategy + ": " : "";
  if (worst->verdict.known && !worst->verdict.exact) {
    return {"bad", "✗", upper(wrong_records(worst->verdict)),
            whose + fmt::format("Of {}. {}.", counted(worst->verdict.expected, "record"),
                                faults_in_words(*worst))};
  }
  const std::string why = worst->problem.empty() ? faults_in_words(*worst) + "." : worst->problem;
  if (record.interrupted) return {"open", "…", "INTERRUPTED", whose + why};
  if (worst->exit_code == 1) return {"bad", "✗", "FAILED", whose + why};
  if (worst->exit_code != 0 || record.exit_code != 0 || !worst->verdict.known)
    return {"open", "?", "NOT PROVEN", whose + why};
  return {"good", "✓", "EXACTLY ONCE",
          fmt::format("{} came out right, none lost, none doubled, while {} {}.",
                      records == 1 ? "The one record" : "All " + counted(records, "record"),
                      counted(faults, "fault"),
                      faults == 1 ? "broke the job" : "broke the job again and again")};
}

class HtmlReport {
 public:
  explicit HtmlReport(const ChaosRecord& record)
      : record_(record), headline_(headline_of(record)) {}

  std::string write() {
    add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{}: {}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
        escaped(headline_.title), escaped(record_.job), report_style());
    add("<header class=\"{}\"><div class=\"sign\" aria-hidden=\"true\">{}</div><div><h1>{}</h1>"
        "<p>{}</p></div></header>\n",
        headline_.style, headline_.sign, escaped(headline_.title), escaped(headline_.text));
    if (record_.runs.size() > 1) write_comparison();
    for (const RunRecord& run : record_.runs) write_run(run);
    write_setup();
    add("</main>\n</body>\n</html>\n");
    return std::move(page_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(page_), format, std::forward<Values>(values)...);
  }

  // ---- One run ----

  void write_run(const RunRecord& run) {
    const RunSummary summary = summarize(run);
    if (record_.runs.size() > 1) {
      add("<section><h2>Strategy {}</h2><p class=\"soft\">{}</p></section>\n",
          escaped(run.strategy), escaped(faults_in_words(run)));
    }
    if (!run.problem.empty() && headline_.text.find(run.problem) == std::string::npos)
      add("<section><h2>What went wrong</h2><p>{}</p></section>\n", escaped(run.problem));
    write_cards(run, summary);
    write_examples(run.verdict);
    add("<section><h2>What happened</h2>");
    add("<p class=\"soft\">Each ▼ is a fault; below it what the recovery was waiting for.{}</p>",
        run.restarted.empty() ? "" : " Grey: tasks restart.");
    write_legend(!run.restarted.empty());
    add("{}</section>\n", run_plot(run));
    if (run.faults.empty()) return;
    add("<section class=\"long\"><h2>How long each recovery took</h2>");
    write_legend(false);
    add("{}</section>\n", recovery_plot(run));
    write_faults(run);
  }

  void write_legend(bool with_down) {
    add("<div class=\"legend\"><span class=\"lead\">time until</span>");
    for (size_t p = 0; p < kPhases; p++)
      add("<span><i class=\"ph{}\"></i>{}</span>", p, kPhaseLabels[p]);
    if (with_down) add("<span><i class=\"down\"></i>tasks restart</span>");
    add("</div>");
  }

  void write_card(const std::string& value, const std::string& what, const std::string& more) {
    add("<div class=\"card\"><span>{}</span><b>{}</b><span>{}</span></div>", escaped(what),
        escaped(value), escaped(more));
  }

  void write_spread_card(const Spread& spread, const std::string& what) {
    if (spread.count == 0) return;
    write_card(readable_millis(spread.p50), what,
               fmt::format("median; p95 {}, max {}", readable_millis(spread.p95),
                           readable_millis(spread.max)));
  }

  void write_cards(const RunRecord& run, const RunSummary& summary) {
    add("<div class=\"cards\">");
    write_card(fmt::format("{} of {}", summary.recovered, run.faults.size()), "faults made good",
               fmt::format("{}, {} tasks", counted(run.restarts, "restart"), run.tasks));
    write_spread_card(summary.phases[0], "fault until noticed");
    write_spread_card(summary.phases[3], "fault until running");
    write_spread_card(summary.phases[5], "fault until caught up");
    if (summary.latency_p95_ms.count > 0) {
      write_card(readable_millis(summary.latency_p95_ms.p50), "latency, p95",
                 fmt::format("median over time; max {}", readable_millis(summary.latency_max_ms)));
    }
    const std::string length = "in " + readable_millis(static_cast<double>(run.length));
    const std::string undisturbed =
        run.reference_length == 0
            ? ""
            : ", undisturbed " + readable_millis(static_cast<double>(run.reference_length));
    write_card(short_number(summary.source_per_second) + "/s", "records made",
               length + undisturbed);
    add("</div>\n");
  }

  void write_examples(const VerdictRecord& verdict) {
    if (verdict.examples.empty()) return;
    add("<section class=\"long\"><h2>Wrong records</h2><p class=\"soft\">{}; {} of {} expected, {} "
        "seen.</p><div class=\"wide\"><table><tr><th class=\"text\">what</th><th "
        "class=\"text\">record</th><th class=\"text\">instead</th></tr>\n",
        escaped(verdict.method), escaped(wrong_records(verdict)), with_commas(verdict.expected),
        with_commas(verdict.seen));
    for (const auto& example : verdict.examples) {
      add("<tr><td class=\"text failed\">{}</td><td class=\"text record\">{}</td><td "
          "class=\"text record\">{}</td></tr>\n",
          escaped(example.what), escaped(example.record), escaped(example.instead));
    }
    add("</table></div></section>\n");
  }

  // ---- Its faults ----

  void write_faults(const RunRecord& run) {
    add("<section class=\"long\"><h2>Faults</h2><p class=\"soft\">Times count from the fault.</p>"
        "<div class=\"wide\"><table><tr><th>#</th><th>at</th><th class=\"text\">fault</th>"
        "<th class=\"text\">what came of it</th>");
    for (const std::string_view label : kPhaseLabels) add("<th>{}</th>", label);
    add("<th class=\"text\">restarted</th><th>records again</th></tr>\n");
    for (const FaultRecord& fault : run.faults) write_fault(fault, run.tasks);
    add("</table></div></section>\n");
  }

  static std::string outcome_of(const FaultRecord& fault) {
    std::string text(to_string(fault.end));
    if (fault.end == FaultEnd::kMerged && fault.merged_with != 0)
      text = fmt::format("with fault {}", fault.merged_with);
    if (!fault.why.empty()) text += ": " + fault.why;
    if (!fault.job_state.empty() && fault.job_state != "RUNNING")
      text += fmt::format(" (the job was {})", fault.job_state);
    return text;
  }

  void write_fault(const FaultRecord& fault, uint32_t tasks) {
    const bool bad = fault.end == FaultEnd::kNotFired || fault.end == FaultEnd::kNotRecovered;
    const auto& time = fault.fired ? fault.fired : fault.planned;
    add("<tr><td>{}</td><td class=\"whole\">{}</td><td class=\"text\">{}</td><td "
        "class=\"text{}\">{}</td>",
        fault.number, time ? run_time(*time) : std::string("at its mark"), escaped(fault.text),
        bad ? " failed" : "", escaped(outcome_of(fault)));
    for (size_t p = 0; p < kPhases; p++) {
      const auto& phase = fault.times.of(static_cast<Phase>(p));
      add("<td class=\"whole\">{}</td>",
          phase ? readable_millis(static_cast<double>(*phase)) : std::string(kNothing));
    }
    const std::string restarted = fault.tasks_restarted == 0
                                      ? std::string(kNothing)
                                      : fmt::format("{} of {}: {}", fault.tasks_restarted, tasks,
                                                    subtask_ranges(fault.restarted));
    add("<td class=\"text\">{}</td><td>{}</td></tr>\n", escaped(restarted),
        fault.tasks_restarted > 0 ? with_commas(fault.records_reprocessed) : std::string(kNothing));
  }

  // ---- Several runs ----

  void write_comparison() {
    std::vector<RunSummary> summaries;
    for (const RunRecord& run : record_.runs) summaries.push_back(summarize(run));
    add("<section><h2>Side by side</h2><div class=\"wide\"><table><tr><th "
        "class=\"text\"></th>");
    for (const RunRecord& run : record_.runs)
      add("<th class=\"text\">{}</th>", escaped(run.strategy));
    add("</tr>\n<tr><td class=\"text\">result</td>");
    for (const RunRecord& run : record_.runs) {
      const bool exact = run.verdict.known && run.verdict.exact;
      const std::string text = exact               ? "✓ exactly once"
                               : run.verdict.known ? "✗ " + wrong_records(run.verdict)
                                                   : "? not known";
      add("<td class=\"text{}\">{}</td>", exact ? "" : " failed", escaped(text));
    }
    add("</tr>\n");
    for (size_t p = 0; p < kPhases; p++) {
      const auto of = [p](const RunSummary& one) { return one.phases[p]; };
      compare(fmt::format("fault until {}", kPhaseLabels[p]), summaries, of, true);
    }
    compare(
        "tasks restarted per fault", summaries,
        [](const RunSummary& one) { return one.tasks_restarted; }, false);
    compare(
        "records made again per fault", summaries,
        [](const RunSummary& one) { return one.records_reprocessed; }, false);
    compare(
        "latency, p95", summaries, [](const RunSummary& one) { return one.latency_p95_ms; }, true);
    add("</table></div><p class=\"soft\">Median, and in brackets p95 and max; bars: the median.</p>"
        "</section>\n");
  }

  template <class Of>
  void compare(const std::string& what, const std::vector<RunSummary>& summaries, Of of,
               bool millis) {
    double largest = 0;
    for (const RunSummary& one : summaries) largest = std::max(largest, of(one).p50);
    const auto show = [millis](double value) {
      return millis ? readable_millis(value) : short_number(value);
    };
    add("<tr><td class=\"text\">{}</td>", what);
    for (const RunSummary& one : summaries) {
      const Spread spread = of(one);
      if (spread.count == 0) {
        add("<td class=\"text\">{}</td>", kNothing);
        continue;
      }
      add("<td class=\"text\"><b>{}</b> <span class=\"soft\">({}, {})</span><div class=\"bar\" "
          "style=\"width:{:.1f}%\"></div></td>",
          show(spread.p50), show(spread.p95), show(spread.max),
          largest > 0 ? spread.p50 / largest * 100 : 0);
    }
    add("</tr>\n");
  }

  // ---- How it was made ----

  void write_setup() {
    add("<section class=\"long\"><h2>How it was run</h2><pre>{}</pre><dl>",
        escaped(record_.command));
    const auto row = [this](std::string_view what, const std::string& value) {
      if (!value.empty()) add("<dt>{}</dt><dd>{}</dd>", what, escaped(value));
    };
    row("job",
        record_.job.empty() ? record_.module : fmt::format("{} ({})", record_.job, record_.module));
    row("arguments", fmt::format("{}", fmt::join(record_.arguments, " ")));
    row("mode", fmt::format("{}, parallelism {}", record_.mode, record_.parallelism));
    row("cluster", fmt::format("{} with {}", counted(record_.task_managers, "TaskManager"),
                               record_.slots == 1 ? "1 slot each"
                                                  : fmt::format("{} slots each", record_.slots)));
    row("settings", fmt::format("{}", fmt::join(record_.settings, ", ")));
    row("seed", fmt::format("{}", record_.seed));
    for (const RunRecord& run : record_.runs)
      row(record_.runs.size() > 1 ? "compared" : "verdict", run.verdict.method);
    row("started", record_.started);
    row("freshet", record_.version);
    add("</dl>");
    if (!record_.plan.empty()) add("<h3>Plan</h3><pre>{}</pre>", escaped(record_.plan));
    add("</section>\n");
  }

  const ChaosRecord& record_;
  const Headline headline_;
  std::string page_;
};

}  // namespace

std::string html_report(const ChaosRecord& record) { return HtmlReport(record).write(); }

}  // namespace freshet::chaos
