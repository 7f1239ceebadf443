#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/mailbox.h"
#include "runtime/graph/job_module.h"
#include "taskmanager/blob_fetch.h"
#include "taskmanager/job_code.h"

namespace freshet {

/// Job modules by content: fetched once, stored as `<directory>/<hash>.so`, loaded once, never
/// unloaded. The files go with the store: while code is loaded, a crash report finds its names
/// there (and the kernel keeps the bytes anyway). Files and loading are the I/O executor's;
/// everything else belongs to the mailbox' thread.
class ModuleStore {
 public:
  struct Environment {
    Transport& transport;
    Mailbox& main;
    Executor& io;
    ModuleLoader& loader;
    FileSystem& files;
    Faults* faults = nullptr;
  };
  using Done = UniqueFunction<void(Result<std::shared_ptr<JobModule>>)>;

  ModuleStore(std::string directory, BlobFetch::Options fetch, const Environment& environment);
  ~ModuleStore();

  /// `done` runs later on the mailbox' thread, or never when the store is destroyed before. A
  /// failure is not remembered. To load a module is to run code of it, in the name of the first job
  /// that wants it.
  void get(const std::string& hash, const JobCode& code, Done done);

  std::string path_of(const std::string& hash) const { return directory_ + "/" + hash + ".so"; }

 private:
  struct Shared;
  struct Entry {
    std::shared_ptr<JobModule> module;
    std::shared_ptr<BlobFetch> fetch;
    std::vector<Done> waiting;
    std::optional<JobCode> code;  // Of the first that waits.
  };

  void load_stored(const std::string& hash);
  void fetch(const std::string& hash);
  void store_and_load(const std::string& hash, std::string bytes);
  void end(const std::string& hash, Result<std::shared_ptr<JobModule>>);

  const std::string directory_;
  const BlobFetch::Options fetch_options_;
  const Environment environment_;
  std::map<std::string, Entry> entries_;
  const std::shared_ptr<ModuleStore*> self_;  // Expires with this.
};

}  // namespace freshet
