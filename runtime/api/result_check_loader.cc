#include "runtime/api/result_check_loader.h"

#include <dlfcn.h>

#include "runtime/api/elf_file.h"

namespace freshet {

namespace {

constexpr const char* kEntryPoint = "freshet_check_result";

}  // namespace

bool has_result_check(std::string_view module_bytes) {
  const auto file = ElfFile::parse(module_bytes);
  return file.ok() && file->find_defined(kEntryPoint) != nullptr;
}

Result<std::function<void(ResultCheck&)>> load_result_check(const std::string& path) {
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const error = ::dlerror();
    return invalid_argument("module '" + path + "' cannot be loaded: " +
                            (error != nullptr ? error : "no reason given"));
  }
  void* const entry = ::dlsym(handle, kEntryPoint);
  if (entry == nullptr)
    return not_found("module '" + path + "' has no checker; define one with FRESHET_CHECK(name)");
  const auto check = reinterpret_cast<void (*)(ResultCheck*)>(entry);
  return std::function<void(ResultCheck&)>([check](ResultCheck& result) { check(&result); });
}

}  // namespace freshet
