#include "runtime/base/nearest_name.h"

#include <algorithm>
#include <utility>

namespace freshet {

namespace {

constexpr size_t kNameMax = 256;  // Comparing takes as long as the name is long, for each one.

/// Three times the changes that make `b` of `a`, or the beginning of `b`, which counts a little
/// more: names are long, and people leave out their ends.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return std::min(3 * row[b.size()], 3 * *std::min_element(row.begin(), row.end()) + 1);
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view name,
                                             const std::vector<std::string_view>& known) {
  std::optional<std::string_view> nearest;
  if (name.size() > kNameMax) return nearest;
  size_t best = name.size() + 1;
  for (const std::string_view one : known) {
    const size_t distance = edit_distance(name, one);
    if (distance < best) best = distance, nearest = one;
  }
  return nearest;
}

}  // namespace freshet
