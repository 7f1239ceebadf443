#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/log.h"

namespace freshet {

/// What is logged while it lives.
class LogCapture {
 public:
  LogCapture() { log_to_sink(append, this); }
  ~LogCapture() { log_to_sink(nullptr, nullptr); }
  std::vector<std::string> lines;

 private:
  static void append(void* self, LogLevel, std::string_view line) {
    static_cast<LogCapture*>(self)->lines.emplace_back(line);
  }
};

}  // namespace freshet
