#include "runtime/app/network_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/app/kernel_file.h"

namespace freshet {

Result<NetworkMemory> network_memory(const Configuration& configuration, FileSystem& files,
                                     uint32_t task_managers) {
  NetworkMemory memory;
  ASSIGN_OR_RETURN(memory.pool_bytes, configuration.bytes(config::kNetworkMemory));
  ASSIGN_OR_RETURN(memory.gate_budget_bytes, configuration.bytes(config::kGateBudget));
  ASSIGN_OR_RETURN(memory.overdraft_bytes_max, configuration.bytes(config::kOverdraft));
  const std::optional<uint64_t> machine = machine_memory_bytes(files);
  if (machine && memory.pool_bytes > *machine / task_managers) {
    const std::string times =
        task_managers == 1 ? "" : fmt::format(" for each of {} TaskManagers", task_managers);
    return invalid_argument(fmt::format(
        "{}: '{}' ({} bytes){} is more than the memory of this machine (MemTotal: {} bytes); set "
        "it to a part of what is left beside everything else, such as '{}'",
        config::kNetworkMemory.name, configuration.text(config::kNetworkMemory), memory.pool_bytes,
        times, *machine, config::kNetworkMemory.default_value));
  }
  if (configuration.has(config::kGateBudget) && memory.gate_budget_bytes > memory.pool_bytes) {
    return invalid_argument(fmt::format(
        "{}: '{}' is more than {}, which is '{}'; set it to at most as much, or that to more",
        config::kGateBudget.name, configuration.text(config::kGateBudget),
        config::kNetworkMemory.name, configuration.text(config::kNetworkMemory)));
  }
  memory.gate_budget_bytes = std::min(memory.gate_budget_bytes, memory.pool_bytes);
  return memory;
}

std::optional<uint64_t> machine_memory_bytes(FileSystem& files) {
  // `MemTotal:       16331304 kB` is one of the lines.
  constexpr std::string_view kName = "MemTotal:";
  const std::string text = read_kernel_file(files, "/proc/meminfo");
  size_t at = text.find(kName);
  if (at == text.npos) return std::nullopt;
  at = text.find_first_not_of(' ', at + kName.size());
  if (at == text.npos) return std::nullopt;
  uint64_t kilobytes = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), kilobytes);
  if (error != std::errc() || !std::string_view(end, text.data() + text.size()).starts_with(" kB"))
    return std::nullopt;
  return kilobytes << 10;
}

}  // namespace freshet
