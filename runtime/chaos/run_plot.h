#pragma once

#include <array>
#include <string>
#include <string_view>

#include "runtime/chaos/run_record.h"

namespace freshet::chaos {

/// How a phase is called in a report, by Phase.
inline constexpr std::array<std::string_view, kPhases> kPhaseLabels = {
    "noticed", "stopped", "deployed", "running", "first record", "caught up"};

/// One run as SVG: faults with the phases of their recovery, throughput and, with a schedule,
/// latency, over one axis of time. The classes are those of report_style().
std::string run_plot(const RunRecord&);

/// Each fault's recovery as a bar from the fault on, on a logarithmic axis.
std::string recovery_plot(const RunRecord&);

}  // namespace freshet::chaos
