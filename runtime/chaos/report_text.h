#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::chaos {

/// For HTML and SVG, in text and in quoted attributes. What is no UTF-8 becomes U+FFFD.
std::string escaped(std::string_view);

/// `1,234,567`
std::string with_commas(uint64_t);
/// `950`, `12.3k`, `4.5M`: three digits.
std::string short_number(double);
/// `4 ms`, `1.24 s`, `2 min 3 s`.
std::string readable_millis(double);
/// `+12.34 s`: since the start of a run.
std::string run_time(int64_t millis);
/// `1 fault`, `2 faults`.
std::string counted(uint64_t count, std::string_view one);

/// Round numbers from 0 to at least `largest`, about `ticks` of them.
std::vector<double> round_ticks(double largest, int ticks);

}  // namespace freshet::chaos
