#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/file_system.h"
#include "runtime/graph/job_module.h"

namespace freshet {

/// Whether the bytes of a file are a job module for this library; kInvalidArgument, saying why not.
/// None of its code runs.
Status check_module(std::string_view bytes);

/// Job modules in shared objects. Each file is read and checked before any of its code runs, static
/// initialisers included; then it is opened and never closed. Thread-safe: one load and one build
/// of a module at a time.
class DlModuleLoader final : public ModuleLoader {
 public:
  explicit DlModuleLoader(FileSystem& files) : files_(files) {}

  /// Also refuses a file whose content differs from what was loaded from the same path before.
  Result<std::shared_ptr<JobModule>> load(const std::string& path) override;

  /// A module from memory: code that is mapped from a file ends its process when somebody writes
  /// over that file. `name` is for messages.
  Result<std::shared_ptr<JobModule>> load_bytes(std::string_view bytes, const std::string& name);

 private:
  FileSystem& files_;
  std::mutex one_load_;
  std::map<std::string, std::string> hash_of_path_;
  std::map<std::string, std::shared_ptr<JobModule>> module_of_hash_;
};

}  // namespace freshet
