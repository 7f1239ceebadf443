#include "runtime/base/ids.h"

#include <fmt/format.h>

#include <charconv>

namespace freshet {

JobId JobId::random(Random& random) { return JobId{random.next(), random.next()}; }

Result<JobId> JobId::parse(std::string_view hex) {
  JobId id;
  const auto read = [](std::string_view digits, uint64_t& out) {
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (hex.size() != 32 || !read(hex.substr(0, 16), id.high) || !read(hex.substr(16), id.low)) {
    return invalid_argument("'" + std::string(hex.substr(0, 64)) +
                            "' is not a job id; it has 32 hex digits, see 'freshet list'");
  }
  return id;
}

std::string JobId::to_string() const { return fmt::format("{:016x}{:016x}", high, low); }

std::string to_string(OperatorId id) { return fmt::format("{:016x}", id.value); }
std::string to_string(TaskManagerId id) { return fmt::format("tm-{:016x}", id.value); }
std::string to_string(const SubtaskId& id) {
  return fmt::format("{}/{}", id.vertex.value, id.index);
}
std::string to_string(const AttemptId& id) {
  return fmt::format("{}#{}", to_string(id.subtask), id.attempt);
}

}  // namespace freshet
