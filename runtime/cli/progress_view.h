#pragma once

#include <string>

#include "runtime/app/control_client.h"
#include "runtime/base/time.h"
#include "runtime/cli/progress_screen.h"

namespace freshet::cli {

/// Shows how a job goes: on a terminal one line that is painted over, elsewhere a plain line per
/// change. The painted line leaves out at its end what the terminal is too narrow for: a line that
/// wraps could not be painted over.
class ProgressView {
 public:
  ProgressView(ProgressScreen&, TimePoint submitted);

  /// The job as it is now. Repaints at most as often as it is called.
  void update(TimePoint now, const JobReport&);

  /// A line between progress lines.
  void note(const std::string& line);

  /// The last line of a job that has ended.
  void finish(TimePoint now, const JobReport&);

 private:
  void clear_line();
  void show_changes(const JobReport&);
  void update_rate(TimePoint now, const JobReport&);
  void paint(TimePoint now, const JobReport&);

  ProgressScreen& screen_;
  const bool terminal_;
  const TimePoint submitted_;
  bool first_ = true;
  bool line_open_ = false;
  JobReport last_;
  TimePoint rate_since_;  // Start of the span that the shown rate covers.
  uint64_t rate_from_records_ = 0;
  double rate_ = 0;  // Records per second.
};

/// `1,234,567`.
std::string with_separators(uint64_t number);
/// `850 ms`, `12.3 s`.
std::string readable(Duration);

}  // namespace freshet::cli
