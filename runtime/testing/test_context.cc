#include "runtime/testing/test_context.h"

#include <utility>

namespace freshet::testing {

TestContext::TestContext(Options options)
    : options_(std::move(options)),
      attempt_{JobId{1, 1}, SubtaskId{VertexId{0}, options_.subtask}, 0},
      random_(make_seeded_random(options_.seed)),
      files_(std::make_unique<MemoryFileSystem>()) {}

std::string TestContext::external(const std::string& /*what*/,
                                  const std::function<std::string()>& ask) {
  return ask();
}

std::string TestContext::setting(const std::string& name) const {
  const auto at = options_.settings.find(name);
  return at == options_.settings.end() ? "" : at->second;
}

}  // namespace freshet::testing
