#include "runtime/app/process_status.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/app/kernel_file.h"

namespace freshet {

namespace {

constexpr Duration kMeasuredApart = 1s;
constexpr uint64_t kNanosPerSecond = 1'000'000'000;

// Of what follows the name; see proc(5), where state is field 3.
constexpr size_t kUserTicks = 14 - 3;
constexpr size_t kSystemTicks = 15 - 3;
constexpr size_t kThreads = 20 - 3;
constexpr size_t kVirtualBytes = 23 - 3;
constexpr size_t kResidentPages = 24 - 3;

/// At least 1.
uint64_t system_value(int name) { return static_cast<uint64_t>(std::max<long>(1, sysconf(name))); }

/// Of a line `MemTotal:  16384 kB`; 0 without it.
uint64_t memory_line(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == text.npos) return 0;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t kilobytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), kilobytes);
  return kilobytes << 10;
}

}  // namespace

MachineNumbers parse_memory(std::string_view meminfo) {
  MachineNumbers machine;
  machine.memory_bytes = memory_line(meminfo, "MemTotal:");
  machine.memory_bytes_free = memory_line(meminfo, "MemAvailable:");
  return machine;
}

MachineNumbers read_machine(FileSystem& files) {
  MachineNumbers machine = parse_memory(read_kernel_file(files, "/proc/meminfo"));
  machine.cores = static_cast<uint32_t>(system_value(_SC_NPROCESSORS_ONLN));
  return machine;
}

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  // The name stands in brackets and may have blanks and brackets in it.
  const size_t name_end = line.rfind(')');
  if (name_end == line.npos) return std::nullopt;
  line.remove_prefix(name_end + 1);
  std::vector<uint64_t> fields;
  while (fields.size() <= kResidentPages) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == line.npos) return std::nullopt;
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find(' '));
    uint64_t number = 0;  // Of what is no number, or negative.
    std::from_chars(word.data(), word.data() + word.size(), number);
    fields.push_back(number);
    line.remove_prefix(word.size());
  }
  return ProcessStat{fields[kUserTicks] + fields[kSystemTicks], fields[kThreads],
                     fields[kVirtualBytes], fields[kResidentPages]};
}

ProcessStatus::ProcessStatus(FileSystem& files, const Clock& clock)
    : files_(files), clock_(clock), measured_at_(clock.now()) {}

ProcessNumbers ProcessStatus::read() {
  ProcessNumbers numbers;
  const auto stat = parse_process_stat(read_kernel_file(files_, "/proc/self/stat"));
  if (!stat) return numbers;
  numbers.cpu_time_nanos = stat->cpu_ticks * (kNanosPerSecond / system_value(_SC_CLK_TCK));
  numbers.resident_bytes = stat->resident_pages * system_value(_SC_PAGESIZE);
  numbers.virtual_bytes = stat->virtual_bytes;
  numbers.threads = stat->threads;
  MutexLock lock(mutex_);
  const Duration passed = clock_.now() - measured_at_;
  if (passed >= kMeasuredApart && numbers.cpu_time_nanos >= measured_nanos_) {
    const auto used = static_cast<double>(numbers.cpu_time_nanos - measured_nanos_);
    const auto cores = static_cast<double>(system_value(_SC_NPROCESSORS_ONLN));
    load_ = std::min(1.0, used / (static_cast<double>(passed.count()) * cores));
    measured_at_ += passed;
    measured_nanos_ = numbers.cpu_time_nanos;
  }
  numbers.cpu_load = load_;
  return numbers;
}

}  // namespace freshet
