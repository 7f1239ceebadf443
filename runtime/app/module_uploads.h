#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/file_system.h"
#include "runtime/base/mutex.h"
#include "runtime/rest/uploaded_modules.h"

namespace freshet {

/// Keeps uploaded modules in a directory of the JobManager, and has another process of this program
/// build their jobs and submit them: no code of users comes here.
class ModuleUploads final : public UploadedModules {
 public:
  static constexpr size_t kModulesMax = 64;
  static constexpr uint64_t kKeptBytesMax = 2ull << 30;  // Of all, with those that come.
  static constexpr size_t kUploadsMax = 8;               // That come together.
  static constexpr size_t kBuildsMax = 4;                // Together.

  struct Options {
    std::string directory;  // Emptied by open(), removed in the end.
    std::string program;    // `freshet`
    Address job_manager;    // As a client reaches it.
    std::string secret;
    uint64_t module_bytes_max = 0;
    Duration build_timeout{};
    Status allowed;  // Not ok: why nothing is taken.
  };

  /// What the settings of a JobManager say.
  static Result<Options> options_of(const Configuration&);
  static Result<std::unique_ptr<ModuleUploads>> open(Options, FileSystem&, const Clock&);
  ~ModuleUploads() override;

  /// Ends the builds that are under way; later ones end at once.
  void stop() { stopped_ = true; }

  Status check_allowed() const override { return options_.allowed; }
  uint64_t bytes_max() const override { return options_.module_bytes_max; }
  Result<std::unique_ptr<Upload>> begin(const std::string& file_name) override;
  std::vector<UploadedModule> list() override;
  Status remove(const std::string& id) override;
  Result<JobId> run(const std::string& id, const ModuleJob&) override;
  Result<std::string> plan(const std::string& id, const ModuleJob&) override;

 private:
  class Shelf;
  class Writer;

  ModuleUploads(Options, std::shared_ptr<Shelf>);
  /// Of the command that builds a job.
  std::vector<std::string> words_of(const std::string& id, const ModuleJob&, bool submit) const;
  Result<std::string> build(const std::string& id, const ModuleJob&, bool submit);

  const Options options_;
  const std::shared_ptr<Shelf> shelf_;  // Whoever still uploads has it, too.
  std::atomic<bool> stopped_{false};
  std::atomic<size_t> builds_{0};
};

}  // namespace freshet
