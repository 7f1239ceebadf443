#include "tests/sim/sim_program.h"

#include <fmt/format.h>

namespace freshet::sim {

SimProgram& SimProgram::get() {
  static SimProgram program;
  return program;
}

std::string SimProgram::commit() { return FRESHET_SIM_COMMIT; }

std::string SimProgram::repeat(uint64_t seed) {
  return fmt::format("sim_test --seed={}  # commit {}", seed, commit());
}

}  // namespace freshet::sim
