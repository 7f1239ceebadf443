#include "tests/bench/process_facts.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

#include "runtime/app/kernel_file.h"

namespace freshet::bench {

namespace {

constexpr uint64_t kKilobyte = 1024;

/// `Name:   123 kB` in a file of the kernel.
Result<uint64_t> number_in(const std::string& path, const char* name) {
  const std::string text = "\n" + read_kernel_file(*make_local_file_system(), path);
  const std::string label = fmt::format("\n{}:", name);
  const size_t at = text.find(label);
  if (at == std::string::npos) return not_found(fmt::format("{} has no {}", path, name));
  return std::strtoull(text.c_str() + at + label.size(), nullptr, 10);
}

Result<uint64_t> number_of(pid_t pid, const char* file, const char* name) {
  return number_in(fmt::format("/proc/{}/{}", pid, file), name);
}

}  // namespace

Result<uint64_t> proportional_bytes(pid_t pid) {
  ASSIGN_OR_RETURN(const uint64_t kilobytes, number_of(pid, "smaps_rollup", "Pss"));
  return kilobytes * kKilobyte;
}

Result<uint64_t> peak_resident_bytes(pid_t pid) {
  ASSIGN_OR_RETURN(const uint64_t kilobytes, number_of(pid, "status", "VmHWM"));
  return kilobytes * kKilobyte;
}

Result<uint64_t> thread_count(pid_t pid) { return number_of(pid, "status", "Threads"); }

Result<uint64_t> available_bytes() {
  ASSIGN_OR_RETURN(const uint64_t kilobytes, number_in("/proc/meminfo", "MemAvailable"));
  return kilobytes * kKilobyte;
}

Result<Duration> cpu_time(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
    return not_found(fmt::format("no process {}", pid));
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace freshet::bench
