#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/time.h"

namespace freshet {

/// Event time of a task: the least watermark of all its active channels. A channel costs nothing
/// before its first watermark or status; until every channel of an active gate has had one, event
/// time stands still.
class WatermarkValve {
 public:
  /// One gate per entry, with the number of its producers.
  explicit WatermarkValve(const std::vector<uint32_t>& producers);

  /// Each gives the new event time when it rose.
  std::optional<EpochMillis> on_watermark(uint32_t gate, uint32_t producer, EpochMillis watermark);
  std::optional<EpochMillis> on_status(uint32_t gate, uint32_t producer, bool active);
  std::optional<EpochMillis> on_gate_ended(uint32_t gate);

  /// False when gates are open and all their channels are idle.
  bool active() const;
  EpochMillis event_time() const { return event_time_; }

 private:
  struct Channel {
    EpochMillis watermark = INT64_MIN;
    bool active = true;
  };
  struct Gate {
    uint32_t producers = 0;
    bool ended = false;
    std::map<uint32_t, Channel> channels;
  };

  std::optional<EpochMillis> rise();

  std::vector<Gate> gates_;
  EpochMillis event_time_ = INT64_MIN;
};

}  // namespace freshet
