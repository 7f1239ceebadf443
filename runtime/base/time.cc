#include "runtime/base/time.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

namespace freshet {

namespace {

struct Unit {
  std::string_view name;
  double nanos;
};

constexpr Unit kUnits[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},     {"sec", 1e9},
                           {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"", 1e6}};

}  // namespace

Result<Duration> parse_duration(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const auto bad = [&] {
    return invalid_argument(
        "'" + text +
        "' is not a duration; write a number and ms, s, min, h or d, such as '500 ms'");
  };
  if (end == text.c_str() || !std::isfinite(number) || number < 0) return bad();
  std::string unit(end);
  while (!unit.empty() && std::isspace(static_cast<unsigned char>(unit.front())))
    unit.erase(unit.begin());
  while (!unit.empty() && std::isspace(static_cast<unsigned char>(unit.back()))) unit.pop_back();
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    const double nanos = number * known.nanos;
    if (nanos > 9e18) return bad();
    return Duration(static_cast<int64_t>(nanos));
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
