#include "taskmanager/module_store.h"

#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

using ModuleResult = Result<std::shared_ptr<JobModule>>;

/// What is static in a module is made now.
ModuleResult load(ModuleLoader& loader, const std::string& path, const JobCode& code) {
  ModuleResult module = internal_error("not loaded");
  const Status status = code.call("static initialisers", [&] {
    module = loader.load(path);
    return Status();
  });
  RETURN_IF_ERROR(status);
  return module;
}

/// On the I/O executor. kNotFound: the file is not there, or is not what its name says.
ModuleResult load_if_stored(FileSystem& files, ModuleLoader& loader, const std::string& path,
                            const std::string& hash, const JobCode& code) {
  const Result<std::string> bytes = files.read_all(path);
  if (!bytes.ok() || content_hash(*bytes) != hash) return not_found(path);
  return load(loader, path, code);
}

ModuleResult store_then_load(FileSystem& files, ModuleLoader& loader, Faults* faults,
                             const std::string& directory, const std::string& path,
                             const std::string& bytes, const JobCode& code) {
  if (faults != nullptr) {
    try {
      faults->at("blob.before_store");
    } catch (const std::exception& error) {
      return internal_error(error.what());
    }
  }
  RETURN_IF_ERROR(files.create_directories(directory));
  RETURN_IF_ERROR(files.write_atomically(path, bytes));
  return load(loader, path, code);
}

}  // namespace

ModuleStore::ModuleStore(std::string directory, BlobFetch::Options fetch,
                         const Environment& environment)
    : directory_(std::move(directory)),
      fetch_options_(std::move(fetch)),
      environment_(environment),
      self_(std::make_shared<ModuleStore*>(this)) {}

ModuleStore::~ModuleStore() {
  for (auto& [hash, entry] : entries_) {
    if (entry.fetch) entry.fetch->cancel();
    environment_.io.post("remove_module", [&files = environment_.files, path = path_of(hash)] {
      const Status status = files.remove(path);
      if (!status.ok() && status.code() != StatusCode::kNotFound)
        LOG_WARN("module_file_not_removed", {{"status", status}});
    });
  }
}

void ModuleStore::get(const std::string& hash, const JobCode& code, Done done) {
  Entry& entry = entries_[hash];
  const bool first = entry.waiting.empty();
  entry.waiting.push_back(std::move(done));
  if (!first) return;
  entry.code.emplace(code);
  if (entry.module == nullptr) return load_stored(hash);
  environment_.main.post("module_known", [weak = std::weak_ptr(self_), hash] {
    if (const auto self = weak.lock()) (*self)->end(hash, (*self)->entries_[hash].module);
  });
}

void ModuleStore::load_stored(const std::string& hash) {
  Executor& main = environment_.main.executor();
  environment_.io.post("load_module", [&main, &files = environment_.files,
                                       &loader = environment_.loader, path = path_of(hash), hash,
                                       code = *entries_[hash].code, weak = std::weak_ptr(self_)] {
    ModuleResult result = load_if_stored(files, loader, path, hash, code);
    main.post("module_loaded", [weak, hash, result = std::move(result)] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      if (!result.ok() && result.status().code() == StatusCode::kNotFound) {
        (*self)->fetch(hash);
      } else {
        (*self)->end(hash, result);
      }
    });
  });
}

void ModuleStore::fetch(const std::string& hash) {
  entries_[hash].fetch = BlobFetch::start(fetch_options_, environment_.transport, environment_.main,
                                          hash, [this, hash](Result<std::string> bytes) {
                                            entries_[hash].fetch.reset();
                                            if (!bytes.ok()) return end(hash, bytes.status());
                                            store_and_load(hash, std::move(bytes).value());
                                          });
}

void ModuleStore::store_and_load(const std::string& hash, std::string bytes) {
  Executor& main = environment_.main.executor();
  environment_.io.post(
      "store_module",
      [&main, &files = environment_.files, &loader = environment_.loader,
       faults = environment_.faults, directory = directory_, path = path_of(hash), hash,
       bytes = std::move(bytes), code = *entries_[hash].code, weak = std::weak_ptr(self_)] {
        ModuleResult result = store_then_load(files, loader, faults, directory, path, bytes, code);
        main.post("module_stored", [weak, hash, result = std::move(result)] {
          if (const auto self = weak.lock()) (*self)->end(hash, result);
        });
      });
}

void ModuleStore::end(const std::string& hash, ModuleResult result) {
  Entry& entry = entries_[hash];
  if (result.ok()) entry.module = *result;
  std::vector<Done> waiting;
  waiting.swap(entry.waiting);
  for (Done& done : waiting) done(result);
}

}  // namespace freshet
