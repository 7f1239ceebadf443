#include "runtime/task/watermark_valve.h"

#include <algorithm>

namespace freshet {

WatermarkValve::WatermarkValve(const std::vector<uint32_t>& producers) {
  for (uint32_t count : producers) gates_.push_back({count, false, {}});
}

std::optional<EpochMillis> WatermarkValve::on_watermark(uint32_t gate, uint32_t producer,
                                                        EpochMillis watermark) {
  Channel& channel = gates_[gate].channels[producer];
  channel.watermark = std::max(channel.watermark, watermark);
  return rise();
}

std::optional<EpochMillis> WatermarkValve::on_status(uint32_t gate, uint32_t producer,
                                                     bool active) {
  gates_[gate].channels[producer].active = active;
  return rise();
}

std::optional<EpochMillis> WatermarkValve::on_gate_ended(uint32_t gate) {
  gates_[gate].ended = true;
  gates_[gate].channels.clear();
  return rise();
}

bool WatermarkValve::active() const {
  bool open = false;
  for (const Gate& gate : gates_) {
    if (gate.ended) continue;
    open = true;
    if (gate.channels.size() < gate.producers) return true;
    for (const auto& [producer, channel] : gate.channels) {
      if (channel.active) return true;
    }
  }
  return !open;
}

std::optional<EpochMillis> WatermarkValve::rise() {
  EpochMillis least = INT64_MAX;
  bool any_active = false;
  bool all_ended = true;
  for (const Gate& gate : gates_) {
    if (gate.ended) continue;
    all_ended = false;
    if (gate.channels.size() < gate.producers) return std::nullopt;
    for (const auto& [producer, channel] : gate.channels) {
      if (!channel.active) continue;
      any_active = true;
      least = std::min(least, channel.watermark);
    }
  }
  if (!any_active && !all_ended) return std::nullopt;
  if (least <= event_time_) return std::nullopt;
  event_time_ = least;
  return event_time_;
}

}  // namespace freshet
