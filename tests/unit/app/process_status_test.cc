#include "runtime/app/process_status.h"

#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

std::string stat_line(uint64_t user, uint64_t system) {
  return "4711 (a (b) c) S 1 4711 4711 0 -1 4194304 100 0 0 0 " + std::to_string(user) + " " +
         std::to_string(system) + " 0 0 20 0 12 0 5000 1000000 256 18446744073709551615 1 1 0\n";
}

TEST(ProcessStatusTest, ReadsALineOfTheKernel) {
  EXPECT_EQ(parse_process_stat(stat_line(30, 4)), (ProcessStat{34, 12, 1'000'000, 256}));
  for (const char* line : {"", "4711 (a", "4711 (a) S", "4711 (a) S 1 2 3 "})
    EXPECT_EQ(parse_process_stat(line), std::nullopt) << line;
}

TEST(ProcessStatusTest, ComparesWithWhatWasASecondAgoAtLeast) {
  MemoryFileSystem files;
  ManualClock clock;
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  ProcessStatus status(files, clock);
  EXPECT_EQ(status.read().threads, 0u);  // There is no such file.
  ASSERT_TRUE(files.create_directories("/proc/self").ok());
  ASSERT_TRUE(files.write_atomically("/proc/self/stat", stat_line(ticks, 0)).ok());
  clock.advance(500ms);
  EXPECT_EQ(status.read().cpu_load, 0);
  clock.advance(1500ms);
  ProcessNumbers numbers = status.read();
  EXPECT_DOUBLE_EQ(numbers.cpu_load, 0.5 / cores);
  EXPECT_EQ(numbers.cpu_time_nanos, 1'000'000'000u);
  EXPECT_EQ(numbers.threads, 12u);
  ASSERT_TRUE(files.write_atomically("/proc/self/stat", stat_line(ticks, ticks)).ok());
  clock.advance(900ms);
  EXPECT_DOUBLE_EQ(status.read().cpu_load, 0.5 / cores);
  clock.advance(3100ms);
  EXPECT_DOUBLE_EQ(status.read().cpu_load, 0.25 / cores);
}

TEST(ProcessStatusTest, ReadsTheMemoryOfTheMachine) {
  const MachineNumbers machine = parse_memory(
      "MemTotal:       16384 kB\nMemFree:          100 kB\nMemAvailable:    2048 kB\n");
  EXPECT_EQ(machine.memory_bytes, 16u << 20);
  EXPECT_EQ(machine.memory_bytes_free, 2u << 20);
  for (const char* text : {"", "MemTotal:", "MemTotal: many kB\n"})
    EXPECT_EQ(parse_memory(text).memory_bytes, 0u) << text;
  const auto files = make_local_file_system();
  const MachineNumbers own = read_machine(*files);
  EXPECT_GE(own.cores, 1u);
  EXPECT_GT(own.memory_bytes, own.memory_bytes_free);
}

TEST(ProcessStatusTest, IsOfThisProcess) {
  const auto files = make_local_file_system();
  ManualClock clock;
  const ProcessNumbers numbers = ProcessStatus(*files, clock).read();
  EXPECT_GE(numbers.threads, 1u);
  EXPECT_GT(numbers.resident_bytes, 1u << 20);
  EXPECT_GT(numbers.virtual_bytes, numbers.resident_bytes);
}

}  // namespace
}  // namespace freshet
