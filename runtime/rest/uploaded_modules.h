#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet {

struct UploadedModule {
  std::string id;
  std::string name;  // Of the file, as its user called it.
  EpochMillis uploaded = 0;
};

/// How the job of a module is to be built.
struct ModuleJob {
  std::string parallelism = "1";
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> settings = {};
};

/// Job modules that clients of the REST API have uploaded. Thread-safe; functions wait, for a
/// bounded time. Jobs are built in other processes: what a module does harms nobody here.
class UploadedModules {
 public:
  /// One that comes. What was not finished is dropped by the destructor.
  class Upload {
   public:
    virtual ~Upload() = default;
    virtual Status append(std::string_view bytes) = 0;
    /// Returns the path of what is kept from now on; its last part is the id.
    virtual Result<std::string> finish() = 0;
  };

  virtual ~UploadedModules() = default;

  /// kFailedPrecondition, with the setting that forbids it, when no jobs are taken here.
  virtual Status check_allowed() const = 0;
  /// Of one module.
  virtual uint64_t bytes_max() const = 0;
  /// kInvalidArgument for a name that no module has, kResourceExhausted when there are too many.
  virtual Result<std::unique_ptr<Upload>> begin(const std::string& file_name) = 0;
  /// In the order of their uploads.
  virtual std::vector<UploadedModule> list() = 0;
  virtual Status remove(const std::string& id) = 0;
  /// kNotFound when there is no such module; what is wrong with it or its job is kInvalidArgument.
  virtual Result<JobId> run(const std::string& id, const ModuleJob&) = 0;
  /// As JSON.
  virtual Result<std::string> plan(const std::string& id, const ModuleJob&) = 0;
};

}  // namespace freshet
