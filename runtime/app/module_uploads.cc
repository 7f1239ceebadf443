#include "runtime/app/module_uploads.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "runtime/app/child_program.h"
#include "runtime/app/security.h"
#include "runtime/base/log.h"
#include "runtime/base/random.h"

namespace freshet {

namespace {

constexpr size_t kNameBytesMax = 128;
constexpr size_t kPlanBytesMax = 16 << 20;
constexpr std::string_view kEnding = ".so";
constexpr std::string_view kBuilt = "built\n";
constexpr std::string_view kLater = "later\n";
constexpr std::string_view kWrong = "wrong\n";

/// What may become a file's name, of what a client calls its file.
Result<std::string> module_name(std::string name) {
  name.erase(0, name.find_last_of("/\\") + 1);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) && c != '.' && c != '-' && c != '_') c = '_';
  }
  if (name.size() <= kEnding.size() || !name.ends_with(kEnding) || name.size() > kNameBytesMax)
    return invalid_argument(
        fmt::format("'{}' is no name of a job module: it must end with {}, and have at most {} "
                    "letters",
                    name.substr(0, kNameBytesMax), kEnding, kNameBytesMax));
  return name;
}

/// Counts one more as long as it lives, if there is room.
class Place {
 public:
  Place(std::atomic<size_t>& taken, size_t most)
      : taken_(taken), free_(taken.fetch_add(1) < most) {}
  ~Place() { taken_--; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool is_free() const { return free_; }

 private:
  std::atomic<size_t>& taken_;
  const bool free_;
};

}  // namespace

/// The modules that there are, and those that come.
class ModuleUploads::Shelf {
 public:
  Shelf(std::string directory, uint64_t module_bytes_max, FileSystem& files, const Clock& clock)
      : directory(std::move(directory)),
        module_bytes_max(module_bytes_max),
        files(files),
        clock_(clock),
        random_(make_system_random()) {}

  Result<std::string> reserve(const std::string& name) {
    const MutexLock lock(mutex_);
    if (uploads_ >= kUploadsMax)
      return resource_exhausted(
          fmt::format("{} modules are being uploaded; try again later", uploads_));
    if (modules_.size() + uploads_ >= kModulesMax)
      return failed_precondition(
          fmt::format("{} modules are kept here, and no more; remove one with DELETE /jars/:jarid",
                      kModulesMax));
    uploads_++;
    return fmt::format("{:016x}{:016x}_{}", random_->next(), random_->next(), name);
  }

  Status grow(uint64_t bytes) {
    const MutexLock lock(mutex_);
    if (bytes_ + bytes > kKeptBytesMax)
      return failed_precondition(
          fmt::format("modules of {} bytes are kept here, and no more than {}; remove one with "
                      "DELETE /jars/:jarid",
                      bytes_, kKeptBytesMax));
    bytes_ += bytes;
    return Status();
  }

  void add(const std::string& id, const std::string& name, uint64_t bytes) {
    const MutexLock lock(mutex_);
    uploads_--;
    modules_.push_back({{id, name, clock_.epoch_millis()}, bytes});
  }

  void abandon(uint64_t bytes) {
    const MutexLock lock(mutex_);
    uploads_--;
    bytes_ -= bytes;
  }

  std::vector<UploadedModule> list() {
    const MutexLock lock(mutex_);
    std::vector<UploadedModule> modules;
    for (const Kept& one : modules_) modules.push_back(one.module);
    return modules;
  }

  bool contains(const std::string& id) {
    const MutexLock lock(mutex_);
    return find(id) != modules_.end();
  }

  bool forget(const std::string& id) {
    const MutexLock lock(mutex_);
    const auto found = find(id);
    if (found == modules_.end()) return false;
    bytes_ -= found->bytes;
    modules_.erase(found);
    return true;
  }

  std::string path_of(const std::string& id) const { return directory + "/" + id; }

  const std::string directory;
  const uint64_t module_bytes_max;
  FileSystem& files;

 private:
  struct Kept {
    UploadedModule module;
    uint64_t bytes = 0;
  };

  std::vector<Kept>::iterator find(const std::string& id) REQUIRES(mutex_) {
    auto at = modules_.begin();
    while (at != modules_.end() && at->module.id != id) ++at;
    return at;
  }

  const Clock& clock_;
  Mutex mutex_;
  const std::unique_ptr<Random> random_ GUARDED_BY(mutex_);
  std::vector<Kept> modules_ GUARDED_BY(mutex_);
  size_t uploads_ GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

class ModuleUploads::Writer final : public Upload {
 public:
  Writer(std::shared_ptr<Shelf> shelf, std::string id, std::string name)
      : shelf_(std::move(shelf)), id_(std::move(id)), name_(std::move(name)) {}
  ~Writer() override {
    if (finished_) return;
    file_ = nullptr;
    (void)shelf_->files.remove(path());
    shelf_->abandon(bytes_);
  }

  Status create() {
    ASSIGN_OR_RETURN(file_, shelf_->files.create(path()));
    return Status();
  }

  Status append(std::string_view bytes) override {
    if (bytes_ + bytes.size() > shelf_->module_bytes_max)
      return invalid_argument(fmt::format("the module is larger than {} bytes, see {}",
                                          shelf_->module_bytes_max, config::kUploadBytes.name));
    RETURN_IF_ERROR(shelf_->grow(bytes.size()));
    bytes_ += bytes.size();
    return file_->append(bytes);
  }

  Result<std::string> finish() override {
    if (bytes_ == 0) return invalid_argument(fmt::format("'{}' is empty", name_));
    RETURN_IF_ERROR(file_->close());
    shelf_->add(id_, name_, bytes_);
    finished_ = true;
    LOG_INFO("module_uploaded", {{"id", id_}, {"bytes", bytes_}});
    return path();
  }

 private:
  std::string path() const { return shelf_->path_of(id_); }

  const std::shared_ptr<Shelf> shelf_;
  const std::string id_;
  const std::string name_;
  std::unique_ptr<WritableFile> file_;
  uint64_t bytes_ = 0;
  bool finished_ = false;
};

Result<ModuleUploads::Options> ModuleUploads::options_of(const Configuration& configuration) {
  Options options;
  options.secret = configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(options.module_bytes_max, configuration.bytes(config::kUploadBytes));
  ASSIGN_OR_RETURN(options.build_timeout, configuration.duration(config::kBuildTimeout));
  for (const ConfigKey* key : {&config::kSubmission, &config::kWebSubmission}) {
    ASSIGN_OR_RETURN(const bool allowed, configuration.boolean(*key));
    if (allowed || !options.allowed.ok()) continue;
    options.allowed = failed_precondition(
        fmt::format("no jobs are taken here: {} is false in the settings", key->name));
  }
  return options;
}

Result<std::unique_ptr<ModuleUploads>> ModuleUploads::open(Options options, FileSystem& files,
                                                           const Clock& clock) {
  RETURN_IF_ERROR(files.remove_all(options.directory));
  RETURN_IF_ERROR(files.create_directories(options.directory));
  auto shelf = std::make_shared<Shelf>(options.directory, options.module_bytes_max, files, clock);
  return std::unique_ptr<ModuleUploads>(new ModuleUploads(std::move(options), std::move(shelf)));
}

ModuleUploads::ModuleUploads(Options options, std::shared_ptr<Shelf> shelf)
    : options_(std::move(options)), shelf_(std::move(shelf)) {}

ModuleUploads::~ModuleUploads() { (void)shelf_->files.remove_all(options_.directory); }

Result<std::unique_ptr<UploadedModules::Upload>> ModuleUploads::begin(
    const std::string& file_name) {
  ASSIGN_OR_RETURN(const std::string name, module_name(file_name));
  ASSIGN_OR_RETURN(const std::string id, shelf_->reserve(name));
  auto writer = std::make_unique<Writer>(shelf_, id, name);
  RETURN_IF_ERROR(writer->create());
  return std::unique_ptr<Upload>(std::move(writer));
}

std::vector<UploadedModule> ModuleUploads::list() { return shelf_->list(); }

Status ModuleUploads::remove(const std::string& id) {
  if (!shelf_->forget(id))
    return not_found(fmt::format("there is no module '{}'; /jars lists them", id.substr(0, 200)));
  return shelf_->files.remove(shelf_->path_of(id));
}

Result<JobId> ModuleUploads::run(const std::string& id, const ModuleJob& job) {
  ASSIGN_OR_RETURN(const std::string text, build(id, job, true));
  return JobId::parse(text);
}

Result<std::string> ModuleUploads::plan(const std::string& id, const ModuleJob& job) {
  return build(id, job, false);
}

std::vector<std::string> ModuleUploads::words_of(const std::string& id, const ModuleJob& job,
                                                 bool submit) const {
  std::vector<std::string> words = {"build-upload", shelf_->path_of(id),
                                    "--parent=" + std::to_string(getpid()),
                                    "--parallelism=" + job.parallelism,
                                    "--build-timeout=" + format_duration(options_.build_timeout)};
  if (submit) words.push_back("--jobmanager=" + options_.job_manager.to_string());
  for (const auto& [name, value] : job.settings) {
    for (const std::string& word : {name, value}) words.push_back("--setting=" + word);
  }
  words.push_back("--");
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  return words;
}

Result<std::string> ModuleUploads::build(const std::string& id, const ModuleJob& job, bool submit) {
  if (!shelf_->contains(id))
    return not_found(fmt::format("there is no module '{}'; /jars lists them", id.substr(0, 200)));
  const Place place(builds_, kBuildsMax);
  if (!place.is_free())
    return resource_exhausted(fmt::format("{} jobs are being built; try again later", kBuildsMax));
  ChildLimits limits;
  // Its function is called once in a trial, which has that time, and then twice.
  limits.patience = 3 * std::min<Duration>(options_.build_timeout, 24h) + 30s;
  limits.output_bytes_max = kPlanBytesMax;
  limits.give_up = &stopped_;
  if (!options_.secret.empty()) limits.environment[kSecretVariable] = options_.secret;
  ASSIGN_OR_RETURN(const ChildOutcome child, run_child(options_.program, words_of(id, job, submit),
                                                       ChildOutput::kCaptured, limits));
  const std::string_view said = child.output;
  if (stopped_) return unavailable("the JobManager is ending");
  if (child.success && said.starts_with(kBuilt)) return std::string(said.substr(kBuilt.size()));
  if (said.starts_with(kLater)) return unavailable(std::string(said.substr(kLater.size())));
  if (said.starts_with(kWrong)) return invalid_argument(std::string(said.substr(kWrong.size())));
  return invalid_argument(fmt::format("the process that builds the job ended without a word ({})",
                                      child.overdue ? "its time was over" : child.how));
}

}  // namespace freshet
