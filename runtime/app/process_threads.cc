#include "runtime/app/process_threads.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/app/kernel_file.h"
#include "runtime/app/process_status.h"

namespace freshet {

namespace {

constexpr uint64_t kMillisPerSecond = 1000;

std::string_view state_name(char letter) {
  switch (letter) {
    case 'R':
      return "RUNNING";
    case 'D':
      return "WAITING_FOR_DISK";
    case 'T':
    case 't':
      return "STOPPED";
    default:
      return "SLEEPING";
  }
}

std::string without_line_break(std::string text) {
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

uint64_t number_of(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::optional<std::string> thread_line(const std::string& name, const std::string& stat,
                                       const std::string& wait_channel) {
  const auto numbers = parse_process_stat(stat);
  if (!numbers) return std::nullopt;
  const char state = stat[std::min(stat.rfind(')') + 2, stat.size() - 1)];
  const auto ticks = static_cast<uint64_t>(std::max<long>(1, sysconf(_SC_CLK_TCK)));
  std::string line = fmt::format("\"{}\" Id={} {} cpu={}ms", name, number_of(stat),
                                 state_name(state), numbers->cpu_ticks * kMillisPerSecond / ticks);
  if (!wait_channel.empty() && wait_channel != "0") line += " in " + wait_channel;
  return line;
}

Result<std::vector<ThreadView>> threads_of(const std::string& pid, FileSystem& files) {
  const std::string tasks = "/proc/" + pid + "/task";
  ASSIGN_OR_RETURN(const auto entries, files.list(tasks));
  std::vector<std::pair<uint64_t, ThreadView>> found;
  for (const FileInfo& entry : entries) {
    const uint64_t id = number_of(entry.path.substr(entry.path.rfind('/') + 1));
    const auto read = [&](const char* file) {
      return without_line_break(read_kernel_file(files, fmt::format("{}/{}/{}", tasks, id, file)));
    };
    ThreadView thread;
    thread.name = read("comm");
    auto line = thread_line(thread.name, read("stat"), read("wchan"));
    if (!line) continue;
    thread.text = *std::move(line);
    found.push_back({id, std::move(thread)});
  }
  std::ranges::sort(found, {}, &std::pair<uint64_t, ThreadView>::first);
  std::vector<ThreadView> threads;
  for (auto& [id, thread] : found) threads.push_back(std::move(thread));
  if (threads.empty()) return not_found("nothing can be known of the process " + pid);
  return threads;
}

}  // namespace freshet
