#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet::bench {

struct WordHash {
  using is_avalanching = void;
  using is_transparent = void;
  size_t operator()(std::string_view word) const;
};

struct WordEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};

/// What a text holds, and what it cost to count it.
struct CountedWords {
  boost::unordered_flat_map<std::string, uint64_t, WordHash, WordEqual> counts;
  uint64_t words = 0;
  Duration cpu_time{};
};

/// The baseline: one loop in one thread, as one would write it by hand. Reads 1 MiB at a time and
/// takes the longest runs of ASCII letters and digits, in lower case.
Result<CountedWords> count_words_by_hand(const std::string& path);

/// Ok when all files of `directory`, together, hold `word count` once for each word and nothing
/// else.
Status compare_results(const CountedWords& expected, const std::string& directory);

}  // namespace freshet::bench
