#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/clock.h"
#include "tests/bench/latency_histogram.h"

namespace freshet::bench {

/// What one run of bench_latency sends, through Freshet or by hand: 8-byte records, each holding
/// the time at which it is due to be sent (CLOCK_MONOTONIC, one clock for all processes of a
/// machine).
struct LatencyLoad {
  double records_per_s = 0;   // 0: as many as are taken.
  Duration buffer_timeout{};  // 0: each record is flushed by itself.
  Duration time{};            // For which records are sent.
};

/// What came of it.
struct LatencyTaken {
  LatencyHistogram latencies;  // From the time at which a record is due to its arrival.
  double records_per_s = 0;
};

/// What a reader notes about each record. The first tenth of the time is not counted.
class LatencyNotes {
 public:
  explicit LatencyNotes(const LatencyLoad& load) : warm_up_(load.time / 10) {}

  void add(TimePoint due, TimePoint arrival) {
    if (count_++ == 0) first_due_ = due;
    if (due - first_due_ < warm_up_) return;
    if (taken_.latencies.count() == 0) counted_from_ = arrival;
    taken_.latencies.add(arrival - due);
    last_arrival_ = arrival;
  }

  LatencyTaken taken() const {
    LatencyTaken taken = taken_;
    const std::chrono::duration<double> time = last_arrival_ - counted_from_;
    if (time.count() > 0)
      taken.records_per_s = static_cast<double>(taken.latencies.count()) / time.count();
    return taken;
  }

 private:
  const Duration warm_up_;
  LatencyTaken taken_;
  uint64_t count_ = 0;
  TimePoint first_due_;
  TimePoint counted_from_;
  TimePoint last_arrival_;
};

/// When the record with this number is due, after the first one: somewhere in the interval that is
/// its own, spread evenly, so that records and flushes do not keep in step.
inline Duration due_after(uint64_t number, double interval_ns) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const double part = static_cast<double>((number * kGoldenRatio) >> 11) * 0x1p-53;
  return Duration(static_cast<int64_t>((static_cast<double>(number) + part) * interval_ns));
}

/// Sleeps until then, on time to a few microseconds.
void sleep_until(TimePoint);

/// Makes sleep_until() of this thread as exact as the kernel can.
void sleep_exactly();

/// Gives `writer` each record when it is due and lets it flush: `bool put(TimePoint due)`,
/// `bool flush()`. A writer that is late is given all that is due at once. False when the writer
/// says so, or is so late that the load is more than can be sent.
template <class Writer>
bool write_paced(const LatencyLoad& load, const Clock& clock, Writer& writer) {
  constexpr Duration kLateMax = 10s;
  constexpr uint64_t kRecordsPerClockRead = 64;
  const double interval_ns = load.records_per_s > 0 ? 1e9 / load.records_per_s : 0;
  const bool flush_each = load.buffer_timeout == Duration(0);
  const auto put = [&](TimePoint due) {
    return writer.put(due) && (!flush_each || writer.flush());
  };
  sleep_exactly();
  const TimePoint begin = clock.now();
  const TimePoint end = begin + load.time;
  TimePoint next_flush = flush_each ? TimePoint::max() : begin + load.buffer_timeout;
  TimePoint now = begin;
  TimePoint due = begin;
  uint64_t number = 0;
  while (due < end) {
    if (now >= end + kLateMax) return false;
    if (interval_ns == 0) {
      for (uint64_t i = 0; i < kRecordsPerClockRead; ++i) {
        if (!put(now)) return false;
      }
      due = now;
    } else {
      for (; due <= now && due < end; due = begin + due_after(++number, interval_ns)) {
        if (!put(due)) return false;
      }
    }
    if (now >= next_flush) {
      if (!writer.flush()) return false;
      next_flush += (now - next_flush) / load.buffer_timeout * load.buffer_timeout;
      next_flush += load.buffer_timeout;
    }
    if (interval_ns > 0) sleep_until(std::min(due, next_flush));
    now = clock.now();
  }
  return writer.flush();
}

}  // namespace freshet::bench
