#pragma once

#include "runtime/operators/edge_type.h"

namespace freshet {

/// Where user code puts its results. What it is given is passed on, or encoded, before the call
/// returns.
template <class T>
class Collector {
 public:
  Collector() = default;
  explicit Collector(RecordReceiver* to) : to_(to) {}

  /// With the timestamp of the record that is being processed.
  void collect(const T& record) { to_->receive(&record, timestamp_); }
  void collect(const T& record, EpochMillis timestamp) { to_->receive(&record, timestamp); }

  /// For operators: the timestamp of what follows.
  void set_timestamp(EpochMillis timestamp) { timestamp_ = timestamp; }

 private:
  RecordReceiver* to_ = nullptr;
  EpochMillis timestamp_ = kNoTimestamp;
};

}  // namespace freshet
