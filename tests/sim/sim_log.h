#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/base/log.h"
#include "tests/sim/sim_event_queue.h"

namespace freshet::sim {

/// Takes all log lines of the process while it lives: with virtual time, into the trace, errors
/// apart. One at a time.
class SimLog {
 public:
  explicit SimLog(SimEventQueue& queue);
  ~SimLog();
  SimLog(const SimLog&) = delete;
  SimLog& operator=(const SimLog&) = delete;

  /// Lines of level ERROR for this event are part of the scenario.
  void expect_error(const std::string& event) { expected_.insert(event); }

  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<std::string>& unexpected_errors() const { return unexpected_errors_; }

  /// Lines whose event has this name.
  size_t count(std::string_view event) const;

 private:
  void take(LogLevel level, std::string_view line);

  SimEventQueue& queue_;
  std::vector<std::string> lines_;
  std::vector<std::string> events_;  // The name of each line's event.
  std::vector<std::string> unexpected_errors_;
  std::set<std::string, std::less<>> expected_;
};

}  // namespace freshet::sim
