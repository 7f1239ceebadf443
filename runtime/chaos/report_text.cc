#include "runtime/chaos/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace freshet::chaos {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Bytes of the character at the begin of `text`; 0: it is none.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t size = byte(0) < 0x80                      ? 1
                      : byte(0) >= 0xC2 && byte(0) < 0xE0 ? 2
                      : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3
                      : byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4
                                                          : 0;
  if (size > text.size()) return 0;
  for (size_t i = 1; i < size; i++) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

/// Rounded to at most so many places.
std::string without_zeros(double number, int places) {
  std::string text = fmt::format("{:.{}f}", number, places);
  while (text.find('.') != text.npos && (text.back() == '0' || text.back() == '.')) {
    const bool point = text.back() == '.';
    text.pop_back();
    if (point) break;
  }
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view special = entity(text[0]);
    const bool control =
        size == 1 && text[0] >= 0 && text[0] < ' ' && text[0] != '\n' && text[0] != '\t';
    if (size == 0 || control) {
      out += kReplacement;
    } else {
      out += special.empty() ? text.substr(0, size) : special;
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

std::string with_commas(uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string short_number(double number) {
  static constexpr std::string_view kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  while (number >= 999.5 && unit + 1 < std::size(kUnits)) {
    number /= 1000;
    unit++;
  }
  const int places = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return without_zeros(number, places) + std::string(kUnits[unit]);
}

std::string readable_millis(double millis) {
  if (millis < 10 && millis != std::floor(millis)) return fmt::format("{:.1f} ms", millis);
  if (millis < 1000) return fmt::format("{:.0f} ms", millis);
  if (millis < 60'000) return without_zeros(millis / 1000, millis < 10'000 ? 2 : 1) + " s";
  const auto seconds = static_cast<int64_t>(millis / 1000);
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

std::string run_time(int64_t millis) {
  return fmt::format("+{:.2f} s", static_cast<double>(millis) / 1000);
}

std::string counted(uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", with_commas(count), one, count == 1 ? "" : "s");
}

std::vector<double> round_ticks(double largest, int ticks) {
  largest = std::max(largest, 1e-9);
  const double raw = largest / ticks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw * 0.999) step = factor * power;
  }
  std::vector<double> all;
  for (int i = 0; all.empty() || all.back() < largest * 0.999; i++) all.push_back(i * step);
  return all;
}

}  // namespace freshet::chaos
