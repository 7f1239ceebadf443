#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/graph/job_module.h"

namespace freshet {

class Environment;

/// A module whose builder is a function of this process: for tests, simulation and jobs that run
/// where they are written. Thread-safe: builds one at a time, as user code need not be.
class InProcessModule final : public JobModule {
 public:
  InProcessModule(std::string name, std::function<void(Environment&)> builder);

  Result<std::shared_ptr<const BuiltJob>> build(const BuildOptions&) override;

 private:
  const std::string name_;
  const std::function<void(Environment&)> builder_;
  std::mutex one_build_;
};

/// Finds such modules by the last component of the path, so that a path by content hash finds what
/// was registered under that hash.
class InProcessModuleLoader final : public ModuleLoader {
 public:
  /// Before the first load().
  void add(const std::string& file_name, std::shared_ptr<JobModule> module);

  Result<std::shared_ptr<JobModule>> load(const std::string& path) override;

 private:
  std::map<std::string, std::shared_ptr<JobModule>> modules_;
};

}  // namespace freshet
