#pragma once

#include <cstdint>

namespace freshet::sim {

/// Which seeds the program's simulations use: --seed=N (the first) and --seeds=N (how many).
struct SeedOptions {
  uint64_t first = 1;
  uint64_t count = 200;
};

/// Set by main() before the tests are made.
SeedOptions& seed_options();

}  // namespace freshet::sim
