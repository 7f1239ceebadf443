#include "runtime/cli/progress_view.h"

#include <fmt/format.h>

namespace freshet::cli {

namespace {

constexpr Duration kRateSpan = 1s;
constexpr const char* kClearLine = "\r\033[K";

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double rate_of(uint64_t records, Duration during) {
  return during.count() > 0 ? static_cast<double>(records) / seconds(during) : 0;
}

}  // namespace

std::string with_separators(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t from_end = 3; from_end < text.size(); from_end += 4) {
    text.insert(text.size() - from_end, ",");
  }
  return text;
}

std::string readable(Duration duration) {
  if (duration < 1s) return fmt::format("{} ms", to_millis(duration));
  return fmt::format("{:.2f} s", seconds(duration));
}

ProgressView::ProgressView(bool terminal, TimePoint submitted)
    : terminal_(terminal), submitted_(submitted), rate_since_(submitted) {}

void ProgressView::update(TimePoint now, const JobReport& job) {
  show_changes(job);
  if (terminal_) paint(now, job);
  last_ = job;
  first_ = false;
}

void ProgressView::note(const std::string& line) {
  clear_line();
  fmt::print(stderr, "{}\n", line);
}

void ProgressView::finish(TimePoint now, const JobReport& job) {
  const Duration took = now - submitted_;
  std::string line =
      fmt::format("Job {} {} after {}, {} records read", job.name, to_string(job.state),
                  readable(took), with_separators(job.source_records));
  if (job.state == JobState::kFinished) {
    line += fmt::format(" ({} records/s)",
                        with_separators(static_cast<uint64_t>(rate_of(job.source_records, took))));
  }
  if (job.restarts > 0)
    line += fmt::format(", {} restart{}", job.restarts, job.restarts == 1 ? "" : "s");
  note(line);
}

void ProgressView::clear_line() {
  if (line_open_) fmt::print(stderr, "{}", kClearLine);
  line_open_ = false;
}

void ProgressView::show_changes(const JobReport& job) {
  const bool new_wait =
      !job.waiting_for.empty() && (first_ || job.waiting_for != last_.waiting_for);
  if (new_wait) note(fmt::format("{}: waits for {}", to_string(job.state), job.waiting_for));
  const bool restarted = !first_ && job.restarts > last_.restarts;
  const bool new_state = first_ || job.state != last_.state;
  if (restarted || (new_state && job.state == JobState::kRestarting)) {
    note(fmt::format("{} (restart {}): {}", to_string(job.state), job.restarts,
                     job.cause.ok() ? "cause unknown" : job.cause.message()));
  } else if (new_state && !new_wait && !terminal_ && !is_terminal(job.state)) {
    note(std::string(to_string(job.state)));
  }
}

void ProgressView::paint(TimePoint now, const JobReport& job) {
  if (job.source_records < rate_from_records_) {  // A new execution starts anew.
    rate_since_ = now;
    rate_from_records_ = job.source_records;
  }
  if (now - rate_since_ >= kRateSpan || rate_ == 0) {
    rate_ = rate_of(job.source_records - rate_from_records_, now - rate_since_);
    if (now - rate_since_ >= kRateSpan) {
      rate_since_ = now;
      rate_from_records_ = job.source_records;
    }
  }
  fmt::print(stderr, "{}{} {}  {} records read  {} records/s  {}/{} tasks  {}", kClearLine,
             job.name, to_string(job.state), with_separators(job.source_records),
             with_separators(static_cast<uint64_t>(rate_)), job.tasks_running + job.tasks_finished,
             job.tasks, readable(now - submitted_));
  std::fflush(stderr);
  line_open_ = true;
}

}  // namespace freshet::cli
