#include "runtime/cli/progress_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/cli/terminal_text.h"

namespace freshet::cli {

namespace {

constexpr Duration kRateSpan = 1s;
const std::string kClearLine = "\r\033[K";

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double rate_of(uint64_t records, Duration during) {
  return during.count() > 0 ? static_cast<double>(records) / seconds(during) : 0;
}

/// Letters of UTF-8.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The first `columns` letters.
std::string_view cut(std::string_view text, size_t columns) {
  size_t end = 0;
  while (end < text.size() && width_of(text.substr(0, end + 1)) <= columns) end++;
  return text.substr(0, end);
}

/// As many of the parts as fit, the first ones first.
std::string fit(const std::vector<std::string>& parts, size_t columns) {
  std::string line;
  for (const std::string& part : parts) {
    const std::string_view gap = line.empty() ? "" : "  ";
    if (width_of(line) + gap.size() + width_of(part) > columns) break;
    line.append(gap).append(part);
  }
  return line;
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

ProgressView::ProgressView(ProgressScreen& screen, TimePoint submitted)
    : screen_(screen),
      terminal_(screen.columns() > 0),
      submitted_(submitted),
      rate_since_(submitted) {}

void ProgressView::update(TimePoint now, const JobReport& job) {
  show_changes(job);
  if (terminal_) paint(now, job);
  last_ = job;
  first_ = false;
}

void ProgressView::note(const std::string& line) {
  clear_line();
  screen_.write(terminal_text(line) + "\n");
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
  if (line_open_) screen_.write(kClearLine);
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

void ProgressView::update_rate(TimePoint now, const JobReport& job) {
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
}

void ProgressView::paint(TimePoint now, const JobReport& job) {
  update_rate(now, job);
  const size_t columns = std::max<size_t>(screen_.columns(), 2) - 1;  // The last one may wrap.
  const std::string_view state = cut(to_string(job.state), columns);
  const std::string_view name = cut(job.name, columns - std::min(columns, state.size() + 1));
  const std::string line =
      fit({fmt::format("{}{}{}", name, name.empty() ? "" : " ", state),
           fmt::format("{} records read", with_separators(job.source_records)),
           fmt::format("{} records/s", with_separators(static_cast<uint64_t>(rate_))),
           fmt::format("{}/{} tasks", job.tasks_running + job.tasks_finished, job.tasks),
           readable(now - submitted_)},
          columns);
  screen_.write(kClearLine + line);
  line_open_ = true;
}

}  // namespace freshet::cli
