#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/faults.h"
#include "runtime/base/random.h"
#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kFixedSeeds = 20;  // Sanitizers take ten times as long.
#else
constexpr uint64_t kFixedSeeds = 200;
#endif

std::optional<uint64_t> number(int argc, char** argv, std::string_view prefix) {
  std::optional<uint64_t> result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    uint64_t value = 0;
    if (!argument.starts_with(prefix)) continue;
    const auto [end, error] =
        std::from_chars(argument.data() + prefix.size(), argument.data() + argument.size(), value);
    if (error == std::errc() && end == argument.data() + argument.size()) result = value;
  }
  return result;
}

void choose_seeds(int argc, char** argv) {
  const auto first = number(argc, argv, "--seed=");
  const uint64_t count = number(argc, argv, "--seeds=").value_or(first ? 1 : kFixedSeeds);
  std::vector<uint64_t>& seeds = SimProgram::get().seeds;
  for (uint64_t i = 0; i < count; ++i) seeds.push_back(first.value_or(1) + i);
  const uint64_t fresh = number(argc, argv, "--new-seeds=").value_or(0);
  if (fresh == 0) return;
  const uint64_t base = number(argc, argv, "--base=")
                            .value_or(static_cast<uint64_t>(make_system_clock()->epoch_millis()));
  std::printf("new seeds: --base=%llu\n", static_cast<unsigned long long>(base));
  const auto random = make_seeded_random(base);
  for (uint64_t i = 0; i < fresh; ++i) seeds.push_back(random->next() >> 16);
}

/// A mark that never fires guards nothing, nor does a fault that never comes.
class MarksReport final : public testing::Environment {
 public:
  void TearDown() override {
    const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
    const bool all = tests.test_to_run_count() == tests.total_test_count();
    for (const FaultMark& mark : fault_marks()) {
      if (SimProgram::get().fired.contains(std::string(mark.name))) continue;
      if (all) ADD_FAILURE() << "no simulation fired the mark " << mark.name;
    }
    for (const std::string& kind : kinds_of_damage()) {
      if (SimProgram::get().broken[kind] > 0) continue;
      if (all && SimProgram::get().seeds.size() >= kFixedSeeds)
        ADD_FAILURE() << "no simulation had any of this: " << kind;
    }
  }
};

}  // namespace
}  // namespace freshet::sim

int main(int argc, char** argv) {
  freshet::sim::choose_seeds(argc, argv);
  testing::AddGlobalTestEnvironment(new freshet::sim::MarksReport);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
