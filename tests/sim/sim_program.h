#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace freshet::sim {

/// What main() was told, and what all simulations of the program are asked about together.
///
///   --seed=N        only this seed (or, with --seeds, the first)
///   --seeds=N       so many fixed seeds
///   --new-seeds=N   besides, so many that no run had before
///   --base=N        which those are, instead of by the time of day
struct SimProgram {
  static SimProgram& get();

  std::vector<uint64_t> seeds;             // Set before the tests are made.
  std::map<std::string, uint64_t> fired;   // Fault marks, over all runs.
  std::map<std::string, uint64_t> broken;  // What SimChaos did and what was damaged, over all runs.

  /// How to see a failure again.
  static std::string repeat(uint64_t seed);
  static std::string commit();
};

}  // namespace freshet::sim
