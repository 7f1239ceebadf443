#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/base/clock.h"
#include "runtime/operators/edge_type.h"

namespace freshet {

/// When a step of a task has lasted long enough. The clock is looked at after as many records as,
/// at the pace of the last ones, a step's time is enough for: at first after one, then after at
/// most twice as many each time. So mail waits for no more than one record of a function that is
/// slow, and where records are fast the clock costs next to nothing.
///
/// Belongs to the task's thread.
class StepPace {
 public:
  StepPace(const Clock& clock, Duration step_time) : clock_(clock), step_time_(step_time) {}

  void begin_step(TimePoint begin) {
    begin_ = looked_ = begin;
    since_look_ = 0;
    over_ = false;
  }

  /// So many more were processed.
  void count(uint64_t records) {
    since_look_ += records;
    if (since_look_ < records_max_) [[likely]]
      return;
    const TimePoint now = clock_.now();
    adapt(now);
    over_ = now - begin_ >= step_time_;
  }

  /// The step's time is.
  bool over() const { return over_; }

  void end_step(TimePoint end) {
    if (since_look_ != 0) adapt(end);
  }

  /// How many at most may be processed between two calls of count(); a power of two.
  uint32_t records_max() const { return records_max_; }
  /// Then there is no need to look.
  bool is_fast() const { return records_max_ == kRecordsMax; }

 private:
  static constexpr uint32_t kRecordsMax = 128;

  void adapt(TimePoint now) {
    const int64_t took = std::max<int64_t>(1, (now - looked_).count());
    const uint64_t fit =
        since_look_ * static_cast<uint64_t>(step_time_.count()) / static_cast<uint64_t>(took);
    const uint64_t most = std::min<uint64_t>(kRecordsMax, uint64_t{2} * records_max_);
    records_max_ = static_cast<uint32_t>(std::bit_floor(std::clamp<uint64_t>(fit, 1, most)));
    looked_ = now;
    since_look_ = 0;
  }

  const Clock& clock_;
  const Duration step_time_;
  TimePoint begin_{};
  TimePoint looked_{};
  uint64_t since_look_ = 0;
  uint32_t records_max_ = 1;
  bool over_ = false;
};

/// Counts what passes, and sets `*stop` when the step's time is over.
class PacedReceiver final : public RecordReceiver {
 public:
  PacedReceiver(RecordReceiver& to, StepPace& pace, bool& stop)
      : to_(to), pace_(pace), stop_(stop) {}

  void receive(const void* record, EpochMillis timestamp) override {
    to_.receive(record, timestamp);
    count(1);
  }
  void receive_batch(RecordBatch& batch) override {
    to_.receive_batch(batch);
    count(batch.count);
  }

 private:
  void count(uint32_t records) {
    pace_.count(records);
    if (pace_.over()) [[unlikely]]
      stop_ = true;
  }

  RecordReceiver& to_;
  StepPace& pace_;
  bool& stop_;
};

}  // namespace freshet
