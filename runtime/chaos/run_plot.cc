#include "runtime/chaos/run_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <vector>

#include "runtime/chaos/report_text.h"

namespace freshet::chaos {

namespace {

constexpr double kWidth = 1080;
constexpr double kLeft = 66;
constexpr double kRight = 1068;
constexpr double kMarkY = 22;       // Of the faults' marks.
constexpr double kLanesY = 38;      // Of their phases.
constexpr double kLaneHeight = 11;  // With the gap below it.
constexpr size_t kLanesMax = 4;
constexpr double kThroughputHeight = 190;
constexpr double kLatencyHeight = 150;
constexpr double kTitleHeight = 30;
constexpr double kLabelWidth = 17;  // Of the number of a fault.
constexpr size_t kBucketsMax = 420;
constexpr RunMillis kBucketMin = 200;

struct Bucket {
  double at = 0;  // Its middle, in milliseconds.
  double source = 0;
  double sink = 0;
  SeriesPoint::Latency latency;
  bool has_latency = false;
};

/// The mean of rates, the worst of latencies.
std::vector<Bucket> buckets_of(const RunRecord& run, RunMillis length) {
  const RunMillis width =
      std::max<RunMillis>(kBucketMin, length / static_cast<RunMillis>(kBucketsMax));
  std::vector<Bucket> buckets(static_cast<size_t>(length / width) + 1);
  std::vector<double> spans(buckets.size());
  RunMillis before = 0;
  for (const SeriesPoint& point : run.series) {
    const size_t index =
        std::min(static_cast<size_t>(std::max<RunMillis>(0, point.at) / width), buckets.size() - 1);
    Bucket& bucket = buckets[index];
    const double span = static_cast<double>(std::max<RunMillis>(1, point.at - before));
    before = point.at;
    bucket.source += point.source_per_second * span;
    bucket.sink += point.sink_per_second * span;
    spans[index] += span;
    if (!point.latency) continue;
    bucket.has_latency = true;
    bucket.latency.p50_ms = std::max(bucket.latency.p50_ms, point.latency->p50_ms);
    bucket.latency.p95_ms = std::max(bucket.latency.p95_ms, point.latency->p95_ms);
    bucket.latency.max_ms = std::max(bucket.latency.max_ms, point.latency->max_ms);
  }
  std::vector<Bucket> seen;
  for (size_t i = 0; i < buckets.size(); i++) {
    if (spans[i] == 0) continue;
    buckets[i].at = (static_cast<double>(i) + 0.5) * static_cast<double>(width);
    buckets[i].source /= spans[i];
    buckets[i].sink /= spans[i];
    seen.push_back(buckets[i]);
  }
  return seen;
}

class RunPlot {
 public:
  explicit RunPlot(const RunRecord& run) : run_(run), length_(length_of(run)) {
    buckets_ = buckets_of(run, length_);
    lanes_ = assign_lanes();
  }

  std::string draw() {
    const double top = kLanesY + kLaneHeight * static_cast<double>(std::max<size_t>(lanes_, 1)) + 6;
    const double throughput = top + kTitleHeight;
    const double latency = throughput + kThroughputHeight + kTitleHeight + 8;
    const double bottom =
        run_.scheduled ? latency + kLatencyHeight : throughput + kThroughputHeight;
    draw_restarts(throughput, bottom);
    draw_fault_lines(top, bottom);
    draw_throughput(throughput);
    if (run_.scheduled) draw_latency(latency);
    draw_time_axis(bottom);
    draw_phases();
    draw_marks();
    const double height = bottom + 44;
    return fmt::format(
        "<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Throughput "
        "{}over time, with each fault and its recovery\">\n{}</svg>\n",
        kWidth, height, run_.scheduled ? "and latency " : "", body_);
  }

 private:
  static RunMillis length_of(const RunRecord& run) {
    RunMillis length = std::max<RunMillis>(run.length, 1000);
    if (!run.series.empty()) length = std::max(length, run.series.back().at);
    for (const FaultRecord& fault : run.faults) length = std::max(length, fault.fired.value_or(0));
    return length;
  }

  double x(double millis) const {
    return kLeft + (kRight - kLeft) * millis / static_cast<double>(length_);
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Values>(values)...);
    body_ += '\n';
  }

  static std::optional<int64_t> end_of(const FaultRecord& fault) {
    std::optional<int64_t> end;
    for (size_t i = 0; i < kPhases; i++) {
      const auto& time = fault.times.of(static_cast<Phase>(i));
      if (time) end = time;
    }
    return end;
  }

  /// Recoveries that overlap stand below each other, as far as there are lanes.
  size_t assign_lanes() {
    std::vector<double> free_from;
    lane_of_.assign(run_.faults.size(), 0);
    for (size_t i = 0; i < run_.faults.size(); i++) {
      const FaultRecord& fault = run_.faults[i];
      const auto end = end_of(fault);
      if (!fault.fired || !end) continue;
      const auto begin = static_cast<double>(*fault.fired);
      size_t lane = 0;
      while (lane < free_from.size() && free_from[lane] > begin) lane++;
      if (lane >= kLanesMax) lane = kLanesMax - 1;
      if (lane >= free_from.size()) free_from.resize(lane + 1);
      free_from[lane] = begin + static_cast<double>(*end);
      lane_of_[i] = lane;
    }
    return free_from.size();
  }

  void draw_restarts(double top, double bottom) {
    for (const RestartRecord& one : run_.restarted) {
      const double from = x(static_cast<double>(one.begun));
      const double to = one.ended ? x(static_cast<double>(*one.ended)) : kRight;
      add("<rect class=\"down\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
          from, top, std::max(to - from, 1.0), bottom - top);
    }
  }

  void draw_fault_lines(double top, double bottom) {
    for (const FaultRecord& fault : run_.faults) {
      if (!fault.fired) continue;
      const double at = x(static_cast<double>(*fault.fired));
      add("<line class=\"faultline\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>",
          at, top, bottom);
    }
  }

  void draw_grid(double top, double height, double at, const std::string& label) {
    const double y = top + height * (1 - at);
    add("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        kLeft, kRight, y, y, kLeft - 7, y + 4, label);
  }

  void draw_line(std::string_view style, const std::function<double(const Bucket&)>& y,
                 const std::function<bool(const Bucket&)>& there) {
    std::string points;
    bool pen = false;
    for (const Bucket& bucket : buckets_) {
      if (!there(bucket)) {
        pen = false;
        continue;
      }
      points += fmt::format("{}{:.1f} {:.1f}", pen ? " L" : " M", x(bucket.at), y(bucket));
      pen = true;
    }
    if (!points.empty()) add("<path class=\"{}\" d=\"{}\"/>", style, points.substr(1));
  }

  void draw_title(double top, std::string_view title,
                  const std::vector<std::pair<std::string_view, std::string_view>>& keys) {
    add("<text class=\"title\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", kLeft, top - 11, title);
    double at = kRight;
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      const double width = 6.9 * static_cast<double>(key->second.size());
      add("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
          "<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
          at, top - 11, key->second, key->first, at - width - 28, at - width - 8, top - 15,
          top - 15);
      at -= width + 48;
    }
  }

  void draw_throughput(double top) {
    double largest = 1;
    for (const Bucket& bucket : buckets_) largest = std::max({largest, bucket.source, bucket.sink});
    const std::vector<double> ticks = round_ticks(largest, 4);
    const double scale = ticks.back();
    draw_title(top, "Throughput (records per second)",
               {{"source", "made by sources"}, {"sink", "arrived at sinks"}});
    for (const double tick : ticks)
      draw_grid(top, kThroughputHeight, tick / scale, short_number(tick));
    const auto y = [&](double value) { return top + kThroughputHeight * (1 - value / scale); };
    const auto always = [](const Bucket&) { return true; };
    if (!buckets_.empty()) {
      std::string area = fmt::format("M{:.1f} {:.1f}", x(buckets_.front().at), y(0));
      for (const Bucket& bucket : buckets_)
        area += fmt::format(" L{:.1f} {:.1f}", x(bucket.at), y(bucket.source));
      add("<path class=\"area\" d=\"{} L{:.1f} {:.1f} Z\"/>", area, x(buckets_.back().at), y(0));
    }
    draw_line(
        "source", [&](const Bucket& b) { return y(b.source); }, always);
    draw_line(
        "sink", [&](const Bucket& b) { return y(b.sink); }, always);
  }

  void draw_latency(double top) {
    double largest = 10;
    for (const Bucket& bucket : buckets_) largest = std::max(largest, bucket.latency.max_ms);
    const double decades = std::ceil(std::log10(largest) - 1e-9);
    draw_title(top, "Latency from scheduled time to sink (logarithmic)",
               {{"lmax", "max"}, {"p95", "p95"}, {"p50", "p50"}});
    for (int i = 0; i <= static_cast<int>(decades); i++)
      draw_grid(top, kLatencyHeight, i / decades, readable_millis(std::pow(10, i)));
    const auto y = [&](double value) {
      return top + kLatencyHeight * (1 - std::log10(std::max(value, 1.0)) / decades);
    };
    const auto there = [](const Bucket& bucket) { return bucket.has_latency; };
    draw_line(
        "lmax", [&](const Bucket& b) { return y(b.latency.max_ms); }, there);
    draw_line(
        "p95", [&](const Bucket& b) { return y(b.latency.p95_ms); }, there);
    draw_line(
        "p50", [&](const Bucket& b) { return y(b.latency.p50_ms); }, there);
  }

  void draw_time_axis(double bottom) {
    const double seconds = static_cast<double>(length_) / 1000;
    for (const double tick : round_ticks(seconds, 10)) {
      if (tick > seconds * 1.0001) break;
      const double at = x(tick * 1000);
      add("<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
          "<text class=\"tick\" text-anchor=\"middle\" x=\"{0:.1f}\" y=\"{3:.1f}\">{4:g}</text>",
          at, bottom, bottom + 5, bottom + 18, tick);
    }
    add("<line class=\"axis\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft,
        kRight, bottom, bottom);
    add("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">seconds since the "
        "start of the job</text>",
        (kLeft + kRight) / 2, bottom + 36);
  }

  void draw_phases() {
    add("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">recovery</text>",
        kLeft - 7, kLanesY + 8);
    for (size_t i = 0; i < run_.faults.size(); i++) {
      const FaultRecord& fault = run_.faults[i];
      if (!fault.fired) continue;
      const double y = kLanesY + kLaneHeight * static_cast<double>(lane_of_[i]);
      double from = 0;
      for (size_t p = 0; p < kPhases; p++) {
        const auto& time = fault.times.of(static_cast<Phase>(p));
        if (!time) continue;
        const auto to = static_cast<double>(*time);
        const double begin = x(static_cast<double>(*fault.fired) + from);
        const double width = x(to) - x(from);
        if (width > 0) {
          add("<rect class=\"ph{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
              p, begin, y, std::max(width, 0.8), kLaneHeight - 2);
        }
        from = to;
      }
    }
  }

  /// Each fault has a mark; its number where there is room.
  void draw_marks() {
    add("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">faults</text>",
        kLeft - 7, kMarkY + 4);
    double label_free = 0;
    for (const FaultRecord& fault : run_.faults) {
      if (!fault.fired) continue;
      const double at = x(static_cast<double>(*fault.fired));
      const bool bad = fault.end == FaultEnd::kNotRecovered;
      add("<g><title>{}</title><path class=\"{}\" d=\"M{:.1f} {:.1f} l4.5 -8 h-9 Z\"/>",
          escaped(fmt::format("fault {}, {}: {}, {}", fault.number, run_time(*fault.fired),
                              fault.text, to_string(fault.end))),
          bad ? "badmark" : "mark", at, kMarkY + 8);
      if (at - kLabelWidth / 2 >= label_free) {
        add("<text class=\"{}\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
            bad ? "badlabel" : "label", at, kMarkY - 4, fault.number);
        label_free = at + kLabelWidth / 2 + 2;
      }
      add("</g>");
    }
  }

  const RunRecord& run_;
  const RunMillis length_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> lane_of_;
  size_t lanes_ = 0;
  std::string body_;
};

}  // namespace

std::string run_plot(const RunRecord& run) { return RunPlot(run).draw(); }

}  // namespace freshet::chaos
