#include "runtime/base/settings_table.h"

#include <fmt/format.h>

namespace freshet {

namespace {

/// `64 mb`: in the largest unit that leaves no rest.
std::string size_text(double bytes) {
  auto rest = static_cast<uint64_t>(bytes);
  const char* const units[] = {" b", " kb", " mb", " gb"};
  size_t unit = 0;
  for (; unit < 3 && rest % 1024 == 0 && rest > 0; unit++) rest /= 1024;
  return std::to_string(rest) + units[unit];
}

/// `none, fixed-delay or failure-rate`.
std::string enumerate(std::string_view words) {
  std::string text(words);
  const size_t last = text.rfind('|');
  if (last != text.npos) text.replace(last, 1, " or ");
  for (size_t at = text.find('|'); at != text.npos; at = text.find('|')) text.replace(at, 1, ", ");
  return text;
}

}  // namespace

std::string readers_of(const ConfigKey& key) {
  switch (key.scope) {
    case ConfigScope::kProcess:
      return "processes";
    case ConfigScope::kJob:
      return "jobs";
    case ConfigScope::kBoth:
      return "both";
  }
  return "";
}

namespace {

/// A `|` would end the cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

constexpr const char* kIntroduction =
    R"(# Settings

Each is given as `-D key=value`, as often as needed: those of processes to `freshet cluster start`,
`freshet jobmanager` and `freshet taskmanager`, those of jobs to `freshet run`, and to
`freshet run --local` both, but for ports and slots, which it has not. Of those that both read, what
the JobManager was started with is the default of all jobs. A name or a value that is not allowed is
refused before anything is done.

A YAML file can hold them, too: one map of names to single values, where maps within maps stand for
the dots in names.

```yaml
taskmanager.numberOfTaskSlots: 4
heartbeat:
  interval: 2 s
  timeout: 20 s
```

Read is one file: that of `--config FILE`, else that of the environment variable `FRESHET_CONF`,
else `./freshet.yaml` if there is one and no other user can write to it; none with `--no-config`.
`-D` wins over the file. `freshet config` shows every value and where it is from. The file is for
all commands: each checks all of it, and takes what it reads. A file with security.secret should
be readable by its owner only; FRESHET_SECRET wins over it. What `freshet cluster start` was given
holds for all processes of the cluster until it is stopped: they read no file.

A size is a number and `b`, `kb`, `mb` or `gb`, in steps of 1024; without a unit bytes. A duration
is a number and `ns`, `us`, `ms`, `s`, `min`, `h` or `d`; without a unit milliseconds.

| setting | default | values | read by | meaning |
| --- | --- | --- | --- | --- |
)";

}  // namespace

std::string allowed_values(const ConfigKey& key) {
  const Allowed& allowed = key.allowed;
  switch (allowed.kind) {
    case ConfigKind::kText:
      return "any text";
    case ConfigKind::kChoice:
      return enumerate(allowed.words);
    case ConfigKind::kBoolean:
      return "true or false";
    case ConfigKind::kInteger:
      return fmt::format("a whole number from {} to {}", static_cast<int64_t>(allowed.minimum),
                         static_cast<int64_t>(allowed.maximum));
    case ConfigKind::kReal:
      return fmt::format("a number from {} to {}", allowed.minimum, allowed.maximum);
    case ConfigKind::kBytes:
      return fmt::format("a size from {} to {}", size_text(allowed.minimum),
                         size_text(allowed.maximum));
    case ConfigKind::kDuration:
      return "a duration";
    case ConfigKind::kPorts:
      return "a port from 0 to 65535, or a range such as 9249-9349";
  }
  return "";
}

std::string settings_table() {
  std::string table = kIntroduction;
  for (const ConfigKey* key : config_keys()) {
    const std::string value =
        key->default_value.empty() ? "none" : fmt::format("`{}`", key->default_value);
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", key->name, value, allowed_values(*key),
                         readers_of(*key), cell(key->meaning));
  }
  return table;
}

}  // namespace freshet
