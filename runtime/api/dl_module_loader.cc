#include "runtime/api/dl_module_loader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/api/abi.h"
#include "runtime/api/elf_file.h"
#include "runtime/api/in_process_module.h"
#include "runtime/base/hash.h"

namespace freshet {
namespace {

constexpr std::string_view kEntryPoint = "freshet_build_job";
constexpr std::string_view kJobName = "freshet_job_name";
constexpr std::string_view kAbiStamp = "freshet_abi_stamp";

/// Generated code of full-runtime messages calls one of these when it is loaded.
bool registers_descriptors(std::string_view symbol) {
  return symbol.find("6google8protobuf") != std::string_view::npos &&
         (symbol.find("AddDescriptors") != std::string_view::npos ||
          symbol.find("InternalAddGeneratedFile") != std::string_view::npos);
}

std::string_view until_zero(std::string_view text) { return text.substr(0, text.find('\0')); }

Status check_stamp(const ElfFile& file) {
  const ElfFile::Symbol* stamp = file.find_defined(kAbiStamp);
  const auto data = stamp == nullptr ? std::nullopt : file.data_of(*stamp);
  if (!data) return invalid_argument("it has no ABI stamp; define its job with FRESHET_JOB(name)");
  const std::string_view theirs = until_zero(*data);
  if (theirs == library_abi_stamp()) return Status();
  return invalid_argument("it was built for another ABI: it has '" +
                          std::string(theirs.substr(0, 128)) + "', this library is '" +
                          std::string(library_abi_stamp()) +
                          "'; build it again against this library");
}

}  // namespace

Status check_module(std::string_view bytes) {
  ASSIGN_OR_RETURN(const ElfFile file, ElfFile::parse(bytes));
  if (file.find_defined(kEntryPoint) == nullptr || file.find_defined(kJobName) == nullptr) {
    return invalid_argument(
        "it is not a job module: it has no entry point; define its job with FRESHET_JOB(name)");
  }
  RETURN_IF_ERROR(check_stamp(file));
  for (const ElfFile::Symbol& symbol : file.symbols()) {
    if (!registers_descriptors(symbol.name)) continue;
    return invalid_argument(
        "its Protobuf messages use the full runtime, so a second version of it would abort the "
        "process; add 'option "
        "optimize_for = LITE_RUNTIME;' to its .proto files, or give them to freshet_add_job(... "
        "PROTOS ...)");
  }
  return Status();
}

namespace {

Result<std::shared_ptr<JobModule>> open_module(const std::string& path) {
  // Without a slash the system would search its library directories instead.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = ::dlerror();
    return invalid_argument(std::string("it cannot be loaded: ") +
                            (error ? error : "no reason given"));
  }
  void* name = ::dlsym(handle, std::string(kJobName).c_str());
  void* entry = ::dlsym(handle, std::string(kEntryPoint).c_str());
  if (name == nullptr || entry == nullptr) {
    return invalid_argument("it changed while it was loaded: its entry point is gone");
  }
  const auto build = reinterpret_cast<void (*)(Environment*)>(entry);
  return std::shared_ptr<JobModule>(std::make_shared<InProcessModule>(
      static_cast<const char*>(name), [build](Environment& environment) { build(&environment); }));
}

/// A file without a name that has `bytes`: its path in this process. It stays open for ever, so
/// that no other module gets the same path.
Result<std::string> file_in_memory(std::string_view bytes) {
  const int descriptor = ::memfd_create("job-module", MFD_CLOEXEC);
  if (descriptor < 0) return unavailable(std::string("no memory file: ") + ::strerror(errno));
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Status why = unavailable(std::string("no memory file: ") + ::strerror(errno));
      ::close(descriptor);
      return why;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return "/proc/self/fd/" + std::to_string(descriptor);
}

}  // namespace

Result<std::shared_ptr<JobModule>> DlModuleLoader::load_bytes(std::string_view bytes,
                                                              const std::string& name) {
  const std::lock_guard lock(one_load_);
  const std::string hash = content_hash(bytes);
  if (const auto loaded = module_of_hash_.find(hash); loaded != module_of_hash_.end())
    return loaded->second;
  const std::string context = "module '" + name + "'";
  if (Status status = check_module(bytes); !status.ok()) return status.with_context(context);
  const auto path = file_in_memory(bytes);
  if (!path.ok()) return path.status().with_context(context);
  auto module = open_module(*path);
  if (!module.ok()) return module.status().with_context(context);
  module_of_hash_[hash] = *module;
  return module;
}

Result<std::shared_ptr<JobModule>> DlModuleLoader::load(const std::string& path) {
  const std::lock_guard lock(one_load_);
  ASSIGN_OR_RETURN(const std::string bytes, files_.read_all(path));
  const std::string hash = content_hash(bytes);
  const auto known = hash_of_path_.find(path);
  if (known != hash_of_path_.end() && known->second != hash) {
    return invalid_argument(
        "module '" + path +
        "' changed since this process loaded it; give the new version another path");
  }
  const auto loaded = module_of_hash_.find(hash);
  if (loaded != module_of_hash_.end()) {
    hash_of_path_[path] = hash;
    return loaded->second;
  }
  if (Status status = check_module(bytes); !status.ok()) {
    return status.with_context("module '" + path + "'");
  }
  auto module = open_module(path);
  if (!module.ok()) return module.status().with_context("module '" + path + "'");
  hash_of_path_[path] = hash;
  module_of_hash_[hash] = *module;
  return module;
}

}  // namespace freshet
