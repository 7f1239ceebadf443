#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "runtime/base/file_system.h"
#include "tests/fuzz/targets.h"

#if defined(__SANITIZE_ADDRESS__)
// So that the name of the input is printed, as after a CHECK.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
#endif

namespace freshet::fuzz {
namespace {

char running[512] = "nothing";  // For a signal handler.

void say_what_runs(int) {
  (void)!write(STDERR_FILENO, "while it replayed ", 18);
  (void)!write(STDERR_FILENO, running, std::strlen(running));
  (void)!write(STDERR_FILENO, "\n", 1);
}

void replay(const Target& target, const std::string& name, const std::string& bytes) {
  std::strncpy(running, name.c_str(), sizeof running - 1);
  target.run(bytes);
}

class ReplayTest : public ::testing::TestWithParam<Target> {};

/// Each target, given what sound peers say and what its corpus holds, ends without an abort.
TEST_P(ReplayTest, Holds) {
  const Target& target = GetParam();
  log_nothing();
  std::signal(SIGABRT, say_what_runs);
  size_t index = 0;
  for (const std::string& seed : target.seeds())
    replay(target, "seed " + std::to_string(index++) + " of " + target.name, seed);
  const std::string directory = std::string(FRESHET_FUZZ_CORPUS) + "/" + target.name;
  const auto files = make_local_file_system();
  const auto entries = files->list(directory);
  ASSERT_TRUE(entries.ok()) << entries.status().to_string();
  ASSERT_FALSE(entries->empty());
  for (const FileInfo& entry : *entries) {
    const auto bytes = files->read_all(entry.path);
    ASSERT_TRUE(bytes.ok());
    replay(target, entry.path, *bytes);
  }
  for (const std::string& nothing : {std::string(), std::string(1, '\0'), std::string(100, '\xff')})
    replay(target, "next to nothing", nothing);
}

INSTANTIATE_TEST_SUITE_P(Targets, ReplayTest, ::testing::ValuesIn(targets()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace freshet::fuzz
