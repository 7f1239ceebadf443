#pragma once

#include <string_view>

namespace freshet::chaos {

/// The style sheet of a report, also of its plots: light and dark, and on paper. The colours are
/// those of Okabe and Ito, which also those tell apart who see no red or no green.
std::string_view report_style();

}  // namespace freshet::chaos
