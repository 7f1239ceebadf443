#include "runtime/task/task_times.h"

namespace freshet {

namespace {

constexpr int kTriesMax = 16;

}  // namespace

void TaskTimes::begin_step(TimePoint now) {
  const Kind waited_for = kind_.load(std::memory_order_relaxed);
  const TimePoint since{Duration(since_.load(std::memory_order_relaxed))};
  change(now, Kind::kBusy, waited_for, now - since);
  step_began_.store(now.time_since_epoch().count(), std::memory_order_release);
}

void TaskTimes::end_step(TimePoint now, Kind kind, Duration waited, Kind next) {
  const TimePoint since{Duration(since_.load(std::memory_order_relaxed))};
  step_began_.store(kNoStep, std::memory_order_release);
  change(now, next, kind, now - since - waited, waited);
}

void TaskTimes::change(TimePoint since, Kind kind, Kind ended, Duration time, Duration waited) {
  const uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_release);
  add(ended, time);
  add(Kind::kBackPressured, waited);
  if (waited != Duration{}) {
    const int64_t before = waited_nanos_.load(std::memory_order_relaxed);
    waited_nanos_.store(before + waited.count(), std::memory_order_release);
  }
  since_.store(since.time_since_epoch().count(), std::memory_order_release);
  kind_.store(kind, std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

void TaskTimes::add(Kind kind, Duration time) {
  if (kind == Kind::kNone || time == Duration{}) return;
  std::atomic<int64_t>& nanos = nanos_[static_cast<size_t>(kind)];
  nanos.store(nanos.load(std::memory_order_relaxed) + time.count(), std::memory_order_release);
}

TaskTimes::Times TaskTimes::read(TimePoint now) const {
  Times times;
  for (int tries = 0; tries < kTriesMax; tries++) {
    if (try_read(now, &times)) break;
  }
  return times;
}

bool TaskTimes::try_read(TimePoint now, Times* times) const {
  const uint32_t version = version_.load(std::memory_order_acquire);
  std::array<Duration, 3> read{};
  for (size_t i = 0; i < read.size(); i++)
    read[i] = Duration(nanos_[i].load(std::memory_order_acquire));
  const Duration waited(waited_nanos_.load(std::memory_order_acquire));
  const TimePoint since{Duration(since_.load(std::memory_order_acquire))};
  const Kind kind = kind_.load(std::memory_order_acquire);
  const bool exact = version % 2 == 0 && version_.load(std::memory_order_relaxed) == version;
  if (kind != Kind::kNone && now > since) read[static_cast<size_t>(kind)] += now - since;
  *times = {read[0], read[1], read[2], waited, kind};
  return exact;
}

}  // namespace freshet
