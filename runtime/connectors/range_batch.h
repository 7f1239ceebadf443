#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/connectors/split_source.h"

namespace freshet {

/// Emits values that are made of the numbers of a range, many at once: one by one, the calls would
/// cost more than the values.
///
/// Belongs to the reader whose range it is.
template <class T>
class RangeBatch {
 public:
  struct WithoutTime {
    EpochMillis operator()() const { return kNoTimestamp; }
  };

  /// `make(number)` of at most `records_max` numbers, which leave `rest`; adds how many were given
  /// on to `count`. False when none is left. When `make` throws, those before it are given on.
  /// `time()` is the timestamp of the next one.
  template <class Make, class Time = WithoutTime>
  bool emit(uint32_t records_max, NumberRange* rest, RecordReceiver& to, uint64_t* count,
            Make&& make, Time&& time = {}) {
    uint64_t left = std::min<uint64_t>(records_max, rest->last - rest->first + uint64_t{1});
    if (left == 0) left = records_max;  // All numbers that there are.
    while (left > 0) {
      const auto together = static_cast<uint32_t>(std::min<uint64_t>(left, kTogether));
      left -= together;
      if (fill(together, rest, to, count, make, time)) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kTogether = RecordBatch::kRecordsMax;

  /// True when the last number of the range was among them.
  template <class Make, class Time>
  bool fill(uint32_t records, NumberRange* rest, RecordReceiver& to, uint64_t* count, Make& make,
            Time& time) {
    batch_.count = batch_.begun = 0;
    bool last = false;
    try {
      while (batch_.count < records) {
        T& value = values_[batch_.count];
        value = make(rest->first);
        batch_.records[batch_.count] = &value;
        batch_.timestamps[batch_.count] = time();
        ++batch_.count;
        last = rest->first++ == rest->last;
      }
    } catch (...) {
      give(to, count);
      throw;
    }
    give(to, count);
    return last;
  }

  void give(RecordReceiver& to, uint64_t* count) {
    try {
      to.receive_batch(batch_);
    } catch (...) {
      *count += batch_.begun - std::min(batch_.begun, 1u);  // Not the one that was refused.
      throw;
    }
    *count += batch_.begun;
  }

  std::array<T, kTogether> values_{};
  RecordBatch batch_;
};

}  // namespace freshet
