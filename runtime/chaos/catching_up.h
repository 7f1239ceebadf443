#pragma once

#include <cstdint>
#include <optional>

#include "runtime/chaos/recovery_rounds.h"
#include "runtime/chaos/samples.h"

namespace freshet::chaos {

/// Whether and when the data of a job was back where it was when a fault came, by samples between
/// the fault and `until`, when tasks restart again. Refers to what it is given.
class CatchingUp {
 public:
  CatchingUp(const Samples&, const RecoveryRound&, EpochMillis fault, EpochMillis until);

  /// The first sample in which a new attempt has taken or made a record; what has nothing to do any
  /// more counts too.
  std::optional<EpochMillis> first_record() const;

  /// The first sample with as many records in each vertex that restarted as at the fault, or at
  /// its end, and with sources that make at least 90 % of what they made in the second before the
  /// fault. None when there was no sample before the fault.
  std::optional<EpochMillis> caught_up() const;

 private:
  bool is_as_far(const Sample& before, const Sample& now) const;
  bool is_as_fast(double before, size_t index) const;
  bool source_ended(const Sample&) const;
  /// Records per second that sources made in the time before a sample.
  double source_rate(size_t index, int64_t millis) const;

  const Samples& samples_;
  const RecoveryRound& round_;
  const EpochMillis fault_;
  const EpochMillis until_;
};

/// What tasks of a round had taken or made before they restarted: all of it is done again.
uint64_t records_redone(const Samples&, const RecoveryRound&);

}  // namespace freshet::chaos
