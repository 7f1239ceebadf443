#include "runtime/api/in_process_module.h"

#include <utility>

#include "runtime/api/built_job.h"

namespace freshet {

InProcessModule::InProcessModule(std::string name, std::function<void(Environment&)> builder)
    : name_(std::move(name)), builder_(std::move(builder)) {}

Result<std::shared_ptr<const BuiltJob>> InProcessModule::build(const BuildOptions& options) {
  const std::lock_guard lock(one_build_);
  return build_job(name_, builder_, options);
}

void InProcessModuleLoader::add(const std::string& file_name, std::shared_ptr<JobModule> module) {
  modules_[file_name] = std::move(module);
}

Result<std::shared_ptr<JobModule>> InProcessModuleLoader::load(const std::string& path) {
  const auto at = modules_.find(path.substr(path.rfind('/') + 1));
  if (at == modules_.end()) {
    return invalid_argument("'" + path + "' is not a job module of this process");
  }
  return at->second;
}

}  // namespace freshet
