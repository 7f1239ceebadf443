#include "runtime/api/environment.h"

#include "runtime/api/usage_error.h"
#include "runtime/base/configuration.h"

namespace freshet {

Environment::Environment(std::string job_name, const BuildOptions& options)
    : arguments_(options.arguments), builder_(std::move(job_name), options) {}

void Environment::set_name(std::string name) {
  if (name.empty()) throw UsageError("the name of a job cannot be empty");
  builder_.set_job_name(std::move(name));
}

std::string Environment::setting(const std::string& name, const std::string& otherwise) const {
  const auto& configuration = builder_.options().configuration;
  const auto at = configuration.find(name);
  return at == configuration.end() ? otherwise : at->second;
}

std::string Environment::path(const std::string& given) const {
  const std::string directory = setting(std::string(config::kWorkingDirectory.name));
  if (given.empty() || given.starts_with('/') || directory.empty()) return given;
  return directory + (directory.ends_with('/') ? "" : "/") + given;
}

std::vector<std::string> Environment::paths(const std::vector<std::string>& given) const {
  std::vector<std::string> all;
  for (const std::string& one : given) all.push_back(path(one));
  return all;
}

Result<std::shared_ptr<const BuiltJob>> Environment::finish() {
  arguments_.check_all_known();
  return builder_.finish();
}

}  // namespace freshet
