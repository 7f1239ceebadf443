#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/time.h"

namespace freshet {

/// How many lines of one event are written. Pure.
class LineLimit {
 public:
  static constexpr unsigned kLinesMax = 20;
  static constexpr Duration kSpan = 1min;

  /// Nullopt: this one is left out. Else how many were, since the last one that was not.
  std::optional<uint64_t> admit(TimePoint now) {
    if (!since_ || now - *since_ >= kSpan) {
      since_ = now;
      written_ = 0;
    }
    if (written_ == kLinesMax) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    const uint64_t left_out = left_out_;
    left_out_ = 0;
    return left_out;
  }

 private:
  std::optional<TimePoint> since_;  // Of the span that is going on.
  unsigned written_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace freshet
