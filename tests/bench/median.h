#pragma once

#include <algorithm>
#include <vector>

namespace freshet::bench {

/// Of at least one value; the greater of the middle two.
template <class T>
T median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace freshet::bench
