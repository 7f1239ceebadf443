#include <algorithm>

#include "network/transport.h"
#include "runtime/api/arguments.h"
#include "runtime/api/usage_error.h"
#include "runtime/app/cluster_state.h"
#include "runtime/app/job_toolchain.h"
#include "runtime/app/make_dependencies.h"
#include "runtime/app/network_memory.h"
#include "runtime/app/port_file.h"
#include "runtime/app/process_status.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/cli/command.h"
#include "runtime/connectors/path_pattern.h"
#include "runtime/graph/runtime_mode.h"
#include "runtime/graph/text_rules.h"
#include "runtime/rest/rest_metrics.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace freshet::fuzz {

namespace {

/// What was read says the same when it is written.
template <class T, class Read, class Write>
void check_again(const Result<T>& value, Read read, Write write) {
  CHECK(value.ok() || !value.status().message().empty());
  if (!value.ok()) return;
  const Result<T> again = read(write(*value));
  CHECK(again.ok() && *again == *value);
}

void check_address(const std::string& text) {
  const auto address = Address::parse(text);
  check_again(address, Address::parse, [](const Address& one) { return one.to_string(); });
  if (address.ok()) CHECK(!address->is_loopback() || !address->is_wildcard());
}

void check_job_id(const std::string& text) {
  check_again(JobId::parse(text), JobId::parse, [](const JobId& id) { return id.to_string(); });
}

void check_mode(const std::string& text) {
  check_again(parse_runtime_mode(text), parse_runtime_mode,
              [](RuntimeMode mode) { return to_string(mode); });
}

void check_cluster_state(const std::string& text) {
  const auto state = parse_cluster_state(text);
  check_again(state, parse_cluster_state, [](const ClusterState& one) { return to_text(one); });
  if (!state.ok()) return;
  CHECK(state->supervisor.pid >= 0);
  for (const ClusterProcess& one : state->processes) CHECK(one.process.pid >= 0);
}

void check_arguments(const std::string& text) {
  std::vector<std::string> given;
  Input input(text);
  while (!input.empty()) given.emplace_back(input.line());
  Arguments arguments(given);
  (void)arguments.list("input", "files");
  (void)arguments.optional_list("also", "files");
  (void)arguments.text("output", "a directory");
  (void)arguments.text_or("name", "nobody", "a name");
  const int64_t number = arguments.integer("number", "a number", -5, 5);
  CHECK(number >= -5 && number <= 5);
  (void)arguments.integer_or("other", 7, "a number");
  (void)arguments.flag("fast", "faster");
  try {
    arguments.check_all_known();
  } catch (const HelpRequest&) {
  } catch (const UsageError& error) {
    CHECK(error.what()[0] != '\0');
  }
}

void check_number(const std::string& text) {
  const auto number = cli::parse_number("-p", text, 1, 1000);
  check_again(
      number, [](const std::string& again) { return cli::parse_number("-p", again, 1, 1000); },
      [](uint32_t value) { return std::to_string(value); });
}

/// input := pattern, name, one a line.
void check_pattern(const std::string& text) {
  Input input(text);
  const std::string pattern(input.line());
  const std::string name(input.line());
  std::string literal;
  for (const char c : name) literal += std::string("\\") + c;
  CHECK(matches_name(literal, name) && matches_name("*", name));
  CHECK(!matches_name(pattern, name) || matches_name("*" + pattern, name));
  MemoryFileSystem files;
  for (const char* path : {"/in/a.txt", "/in/b", "/in/deep/c.txt", "/in/.hidden", "/in/[x]"})
    files.put(path, "text");
  const auto found = expand_patterns({"/in/" + pattern}, files);
  CHECK(found.ok() ? !found->empty() : !found.status().message().empty());
}

/// Files of the kernel, `path` and one line of text in turns.
void check_memory_limit(const std::string& text) {
  MemoryFileSystem files;
  files.put("/proc/meminfo", "MemTotal:       16331304 kB\n");
  Input input(text);
  files.put("/proc/self/cgroup", std::string(input.line()) + "\n" + std::string(input.line()));
  files.put("/sys/fs/cgroup/a/memory.max", std::string(input.line()));
  files.put("/proc/meminfo", std::string(input.rest()));
  const auto limit = memory_limit(files);
  CHECK(!limit || !limit->origin.empty());
}

/// What the build of the library left for those who compile jobs.
void check_toolchain(const std::string& text) {
  const auto toolchain = JobToolchain::parse(text, "/lib/toolchain");
  CHECK(toolchain.ok() || !toolchain.status().message().empty());
  if (!toolchain.ok()) return;
  CHECK(!toolchain->compilers.empty() && toolchain->headers.starts_with('/'));
  size_t texts = toolchain->compilers.size() + toolchain->flags.size() +
                 toolchain->gnu_flags.size() + toolchain->link.size();
  CHECK(texts <= text.size());
}

/// What a compiler says that it read.
void check_dependencies(const std::string& text) {
  size_t bytes = 0;
  for (const std::string& file : parse_make_dependencies(text)) {
    CHECK(!file.empty());
    bytes += file.size();
  }
  CHECK(bytes <= text.size());
}

/// What a process left for those who look for its ports, a line of /proc/<pid>/stat, and
/// /proc/meminfo.
void check_port_file(const std::string& text) {
  const auto ports = parse_port_file(text);
  CHECK(ports.ok() || !ports.status().message().empty());
  if (ports.ok()) CHECK(to_text(parse_port_file(to_text(*ports)).value()) == to_text(*ports));
}

void check_process_stat(const std::string& text) {
  const auto stat = parse_process_stat(text);
  CHECK(!stat || text.find(')') != text.npos);
}

void check_memory(const std::string& text) {
  const MachineNumbers machine = parse_memory(text);
  CHECK(machine.memory_bytes == 0 || text.find("MemTotal:") != text.npos);
}

void check_log_level(const std::string& text) {
  const auto level = parse_log_level(text);
  CHECK(level.ok() == (text == "debug" || text == "info" || text == "warn" || text == "error"));
  CHECK(level.ok() || !level.status().message().empty());
}

/// A list of subtasks is what it was when it is written one by one.
void check_indices(const std::string& text) {
  constexpr uint32_t kSubtasks = 50;
  const auto read = [](const std::string& list) { return rest::parse_indices(list, kSubtasks); };
  const auto indices = read(text);
  if (indices.ok()) CHECK(std::is_sorted(indices->begin(), indices->end()));
  check_again(indices, read, [](const std::vector<uint32_t>& all) {
    std::string list;
    for (const uint32_t one : all) list += std::to_string(one) + ",";
    return list;
  });
}

void check_names(const std::string& text) {
  const auto directory = ClusterDirectory::of("/base", text);
  if (directory.ok()) {
    CHECK(directory->path() == "/base/" + text && text.find('/') == text.npos && text != "..");
  }
  CHECK(!is_plain_text(text) || is_plain_text("a" + text, kNameLengthMax + 1));
}

}  // namespace

/// input := a letter for what the text is, the text.
void texts(std::string_view bytes) {
  Input input(bytes);
  const uint8_t kind = input.byte();
  const std::string text(input.rest());
  switch (kind) {
    case 'a':
      return check_address(text);
    case 'j':
      return check_job_id(text);
    case 'm':
      return check_mode(text);
    case 'c':
      return check_cluster_state(text);
    case 'o':
      return check_arguments(text);
    case 'n':
      return check_number(text);
    case 'p':
      return check_pattern(text);
    case 'l':
      return check_memory_limit(text);
    case 'q':
      return check_port_file(text);
    case 'x':
      return check_process_stat(text);
    case 'r':
      return check_memory(text);
    case 'v':
      return check_log_level(text);
    case 't':
      return check_toolchain(text);
    case 'k':
      return check_dependencies(text);
    case 'i':
      return check_indices(text);
    default:
      return check_names(text);
  }
}

Seeds texts_seeds() {
  ClusterState state;
  state.boot = "0123-4567";
  state.supervisor = {17, 1234};
  state.processes = {{"jobmanager", {18, 2345}, true, 0, Address{"127.0.0.1", 6123}},
                     {"taskmanager-1", {19, 3456}, false, 2, std::nullopt}};
  return {"c" + to_text(state),
          "a127.0.0.1:6123",
          "rMemTotal:  24576000 kB\nMemAvailable: 12345 kB\n",
          "vdebug",
          "a[::1]:80",
          "alocalhost:0",
          "aunix:/run/x",
          "aunix:@x",
          "a[fe80::1%1]:1",
          "j0123456789abcdef0123456789abcdef",
          "mbatch",
          "mstreaming",
          "o--input\na\nb\n--output=x\n--number\n5\n--fast\n--also\n",
          "o--help",
          "o--\n--number\n9999999999999999999",
          "n12",
          "p*.t?t\na.txt",
          "p[!a-c]*\nb",
          "p**/[[]x]\n[x]",
          "p\\a.txt\na.txt",
          "l0::/a/b\n4:memory:/a\n1073741824\nMemTotal:  16331304 kB\n",
          "i0-3,7,49",
          "tcompiler g++\nflag -O2\ngnu-flag -x\nheaders ../include\nlibrary lib.so\nlink -lm\n",
          "q127.0.0.1:1\nrest 127.0.0.1:2\nmetrics 127.0.0.1:3\nlater x:1\n",
          "x17 (a b) c) S 1 1 1 0 -1 4194560 1 2 3 4 55 66 7 8 20 0 9 0 11 222 33 1 2 3",
          "ka.o: a.cc b\\ c.h \\\n d$$.h \\#e.h\n",
          "sprod-1",
          "s\xc3\xa9\xf0\x9f\x98\x80"};
}

}  // namespace freshet::fuzz
