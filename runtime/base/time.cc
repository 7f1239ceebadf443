#include "runtime/base/time.h"

#include <charconv>
#include <cmath>

namespace freshet {

namespace {

using Real = long double;  // Has every number of nanoseconds.

struct Unit {
  std::string_view name;
  Real nanos;
};

constexpr Unit kUnits[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},     {"sec", 1e9},
                           {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"", 1e6}};

constexpr size_t kShownMax = 256;

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<Duration> parse_duration(const std::string& text) {
  const auto bad = [&] {
    return invalid_argument(
        "'" + text.substr(0, kShownMax) +
        "' is not a duration; write a number and ms, s, min, h or d, such as '500 ms'");
  };
  const std::string_view trimmed = without_blanks(text);
  Real number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return bad();
  const std::string_view unit =
      without_blanks(trimmed.substr(static_cast<size_t>(end - trimmed.data())));
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    const Real nanos = number * known.nanos;
    if (nanos > 9e18l) return bad();
    return Duration(std::llround(nanos));
  }
  return bad();
}

std::string format_duration(Duration duration) {
  const int64_t nanos = duration.count();
  const auto whole = [&](int64_t unit, const char* name) {
    return std::to_string(nanos / unit) + name;
  };
  if (nanos != 0 && nanos % 3'600'000'000'000 == 0) return whole(3'600'000'000'000, " h");
  if (nanos != 0 && nanos % 60'000'000'000 == 0) return whole(60'000'000'000, " min");
  if (nanos % 1'000'000'000 == 0) return whole(1'000'000'000, " s");
  if (nanos % 1'000'000 == 0) return whole(1'000'000, " ms");
  return whole(1, " ns");
}

}  // namespace freshet
