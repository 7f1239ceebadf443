#include "runtime/chaos/mark_faults.h"

#include <fmt/format.h>

namespace freshet::chaos {

std::string mark_rule(const Fault& fault) {
  const std::string process = fault.process.is_any() ? "" : fault.process.to_string() + "/";
  return fmt::format("{}{}:{}:{}", process, fault.mark, fault.passing, fault.mark_action);
}

std::vector<FiredFault> read_fired(FileSystem& files, const std::string& record) {
  std::vector<FiredFault> all;
  const auto text = files.read_all(record);
  if (!text.ok()) return all;
  size_t begin = 0;
  for (size_t end = text->find('\n'); end != text->npos; end = text->find('\n', begin)) {
    if (auto fired = parse_fired_fault(text->substr(begin, end - begin)))
      all.push_back(std::move(*fired));
    begin = end + 1;
  }
  return all;
}

}  // namespace freshet::chaos
