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
  const std::optional<MemoryLimit> limit = memory_limit(files);
  if (limit && memory.pool_bytes > limit->bytes / task_managers) {
    const std::string times =
        task_managers == 1 ? "" : fmt::format(" for each of {} TaskManagers", task_managers);
    return invalid_argument(fmt::format(
        "{}: '{}' ({} bytes){} is more than the memory that it may use ({}: {} bytes); set "
        "it to a part of what is left beside everything else, such as '{}'",
        config::kNetworkMemory.name, configuration.text(config::kNetworkMemory), memory.pool_bytes,
        times, limit->origin, limit->bytes, config::kNetworkMemory.default_value));
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

namespace {

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

std::optional<MemoryLimit> machine_memory(FileSystem& files) {
  // `MemTotal:       16331304 kB` is one of the lines.
  constexpr std::string_view kName = "MemTotal:";
  const std::string text = read_kernel_file(files, "/proc/meminfo");
  size_t at = text.find(kName);
  if (at == text.npos) return std::nullopt;
  at = text.find_first_not_of(' ', at + kName.size());
  if (at == text.npos) return std::nullopt;
  const std::string_view line = std::string_view(text).substr(at, text.find('\n', at) - at);
  const auto kilobytes = number_in(line);
  if (!kilobytes || !line.ends_with(" kB")) return std::nullopt;
  return MemoryLimit{*kilobytes << 10, "MemTotal"};
}

void lower(std::optional<MemoryLimit>& limit, FileSystem& files, const std::string& path) {
  const auto bytes = number_in(read_kernel_file(files, path));  // None in `max`.
  if (bytes && (!limit || *bytes < limit->bytes)) limit = MemoryLimit{*bytes, path};
}

/// By a control group and all above it: `file` in each directory from `root` + `path` upwards.
void lower_by_group(std::optional<MemoryLimit>& limit, FileSystem& files, const std::string& root,
                    std::string path, const std::string& file) {
  while (true) {
    lower(limit, files, root + path + (path.ends_with('/') ? "" : "/") + file);
    if (path.empty() || path == "/") return;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

std::optional<MemoryLimit> memory_limit(FileSystem& files) {
  std::optional<MemoryLimit> limit = machine_memory(files);
  // Lines `0::/path` of version 2, `4:memory:/path` of version 1.
  const std::string groups = read_kernel_file(files, "/proc/self/cgroup");
  for (size_t at = 0; at < groups.size();) {
    const size_t end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);
    at = end + 1;
    const size_t path = line.find('/');
    if (path == line.npos) continue;
    if (line.starts_with("0::")) {
      lower_by_group(limit, files, "/sys/fs/cgroup", line.substr(path), "memory.max");
    } else if (line.substr(0, path).ends_with(":memory:")) {
      lower_by_group(limit, files, "/sys/fs/cgroup/memory", line.substr(path),
                     "memory.limit_in_bytes");
    }
  }
  return limit;
}

}  // namespace freshet
