#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/chaos/report_text.h"
#include "runtime/chaos/run_plot.h"

namespace freshet::chaos {

namespace {

constexpr double kWidth = 1080;
constexpr double kLeft = 290;
constexpr double kRight = 930;  // What came of it stands behind.
constexpr double kTop = 12;
constexpr size_t kRowsMax = 150;
constexpr size_t kLargeRowsMax = 40;
constexpr size_t kLabelMax = 44;

std::string shortened(const std::string& text) {
  if (text.size() <= kLabelMax) return text;
  size_t end = kLabelMax - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end--;
  return text.substr(0, end) + "…";
}

class RecoveryPlot {
 public:
  explicit RecoveryPlot(const RunRecord& run)
      : run_(run),
        rows_(std::min(run.faults.size(), kRowsMax)),
        row_height_(rows_ > kLargeRowsMax ? 12 : 18) {
    double largest = 10;
    for (const FaultRecord& fault : run.faults) {
      for (size_t i = 0; i < kPhases; i++) {
        const auto& time = fault.times.of(static_cast<Phase>(i));
        if (time) largest = std::max(largest, static_cast<double>(*time));
      }
    }
    decades_ = std::log10(largest * 1.1);
  }

  std::string draw() {
    const double bottom = kTop + row_height_ * static_cast<double>(rows_) + 4;
    draw_axis(bottom);
    for (size_t i = 0; i < rows_; i++)
      draw_row(run_.faults[i], kTop + row_height_ * static_cast<double>(i));
    if (run_.faults.size() > rows_) {
      add("<text class=\"tick\" x=\"{:.0f}\" y=\"{:.0f}\">and {} more faults in the table</text>",
          8.0, bottom + 16, run_.faults.size() - rows_);
    }
    return fmt::format(
        "<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"How long each "
        "phase of each recovery took\">\n{}</svg>\n",
        kWidth, bottom + 44, body_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Values>(values)...);
    body_ += '\n';
  }

  double x(double millis) const {
    return kLeft + (kRight - kLeft) * std::log10(std::max(millis, 1.0)) / decades_;
  }

  void draw_axis(double bottom) {
    for (int decade = 0; decade <= static_cast<int>(decades_); decade++) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10, decade);
        if (std::log10(value) > decades_) break;
        add("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{0:.1f}\" y=\"{3:.1f}\">{4}</text>",
            x(value), kTop - 4, bottom, bottom + 16, readable_millis(value));
      }
    }
    add("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">time since the "
        "fault "
        "(logarithmic)</text>",
        (kLeft + kRight) / 2, bottom + 34);
  }

  void draw_row(const FaultRecord& fault, double y) {
    const bool bad = fault.end == FaultEnd::kNotRecovered || fault.end == FaultEnd::kNotFired;
    const double base = y + row_height_ - (row_height_ > 12 ? 5 : 3);
    const std::string_view size = row_height_ > 12 ? "" : " small";
    add("<g><title>{}</title>", escaped(fmt::format("fault {}: {}", fault.number, fault.text)));
    add("<text class=\"num{}\" text-anchor=\"end\" x=\"26\" y=\"{:.1f}\">{}</text>"
        "<text class=\"row{}\" x=\"34\" y=\"{:.1f}\">{}</text>",
        size, base, fault.number, size, base, escaped(shortened(fault.text)));
    double from = 1, last = 0;
    for (size_t p = 0; p < kPhases; p++) {
      const auto& time = fault.times.of(static_cast<Phase>(p));
      if (!time) continue;
      last = std::max(static_cast<double>(*time), 1.0);
      if (last > from) {
        add("<rect class=\"ph{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
            p, x(from), y + 2, x(last) - x(from), row_height_ - 4);
      }
      from = std::max(from, last);
    }
    add("<text class=\"{}{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>", bad ? "badrow" : "tick",
        size, x(std::max(last, 1.0)) + 6, base, escaped(outcome_of(fault)));
  }

  static std::string outcome_of(const FaultRecord& fault) {
    switch (fault.end) {
      case FaultEnd::kNotFired:
        return "✗ did not fire";
      case FaultEnd::kHarmless:
        return "no task had to restart";
      case FaultEnd::kMerged:
        return fault.merged_with == 0 ? "restarted again"
                                      : fmt::format("with fault {}", fault.merged_with);
      case FaultEnd::kNotRecovered:
        return "✗ not recovered";
      case FaultEnd::kRecovered:
        break;
    }
    if (fault.times.caught_up) return readable_millis(static_cast<double>(*fault.times.caught_up));
    const auto running = fault.times.restore.value_or(0);
    return fmt::format("running after {}", readable_millis(static_cast<double>(running)));
  }

  const RunRecord& run_;
  const size_t rows_;
  const double row_height_;
  double decades_ = 1;
  std::string body_;
};

}  // namespace

std::string recovery_plot(const RunRecord& run) { return RecoveryPlot(run).draw(); }

}  // namespace freshet::chaos
