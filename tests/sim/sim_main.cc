#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/sim/sim_options.h"

namespace freshet::sim {

SeedOptions& seed_options() {
  static SeedOptions options;
  return options;
}

namespace {

/// True when `argument` is `prefix` and a number.
bool take_number(std::string_view argument, std::string_view prefix, uint64_t& to) {
  if (!argument.starts_with(prefix)) return false;
  const std::string_view digits = argument.substr(prefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace
}  // namespace freshet::sim

int main(int argc, char** argv) {
  freshet::sim::SeedOptions& options = freshet::sim::seed_options();
  bool one_seed = false;
  for (int i = 1; i < argc; ++i) {
    one_seed = freshet::sim::take_number(argv[i], "--seed=", options.first) || one_seed;
    freshet::sim::take_number(argv[i], "--seeds=", options.count);
  }
  if (one_seed) {
    bool counted = false;
    for (int i = 1; i < argc; ++i) counted = counted || std::strncmp(argv[i], "--seeds=", 8) == 0;
    if (!counted) options.count = 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
