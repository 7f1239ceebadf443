#include "runtime/cli/job_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/api/abi.h"
#include "runtime/app/make_dependencies.h"
#include "runtime/app/module_cache.h"
#include "runtime/app/process_host.h"
#include "runtime/base/hash.h"
#include "runtime/cli/cluster_selection.h"

namespace freshet::cli {

namespace {

constexpr std::array<std::string_view, 5> kEndings = {".cc", ".cpp", ".cxx", ".c++", ".C"};
constexpr uint64_t kSourceBytesMax = 64u << 20;

Result<std::string> read_source(const std::string& path, FileSystem& files) {
  auto text = files.read_all(path, kSourceBytesMax);
  if (!text.ok()) return text.status().with_context("cannot read the source of the job");
  return text;
}

/// Goes with all that is in it.
struct BuildDirectory {
  std::string path;
  FileSystem& files;
  ~BuildDirectory() { static_cast<void>(files.remove_all(path)); }
};

Result<std::string> build(const std::string& source, const std::string& key,
                          const JobCompiler& compiler, const ModuleCache& cache,
                          FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string path, cache.make_build_directory());
  const BuildDirectory directory{path, files};
  JobCompiler::Request request;
  request.sources = {source};
  request.module = path + "/" + std::filesystem::path(source).stem().string() + ".so";
  request.dependencies = path + "/dependencies";
  RETURN_IF_ERROR(compiler.compile(request));
  // A compiler that is a script may leave none: then it is built each time.
  const auto rule = files.read_all(request.dependencies);
  return cache.store(key, request.module,
                     rule.ok() ? parse_make_dependencies(*rule) : std::vector<std::string>());
}

}  // namespace

bool is_source(const std::string& path) {
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

Status check_source(const std::string& path, FileSystem& files) {
  return read_source(path, files).status();
}

Result<JobCompiler> find_job_compiler(FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string program, own_program_path());
  const std::string file = (std::filesystem::path(program).parent_path() / FRESHET_TOOLCHAIN)
                               .lexically_normal()
                               .string();
  const auto text = files.read_all(file);
  if (!text.ok())
    return text.status().with_context("this installation does not say how jobs are built");
  ASSIGN_OR_RETURN(const JobToolchain toolchain, JobToolchain::parse(*text, file));
  return JobCompiler::find(toolchain, CompilerEnvironment::of_process());
}

Result<std::string> module_of_source(const std::string& source, const std::string& state_directory,
                                     FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string text, read_source(source, files));
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(source, error).string();
  if (error) return unavailable(fmt::format("{}: {}", source, error.message()));
  ASSIGN_OR_RETURN(const std::string base, state_directory_or_default(state_directory));
  ASSIGN_OR_RETURN(const ModuleCache cache, ModuleCache::of(base, files));
  ASSIGN_OR_RETURN(const JobCompiler compiler, find_job_compiler(files));
  const std::string key = content_hash(
      fmt::format("{}\n{}\n{}\n{}", library_abi_stamp(), compiler.identity(), absolute, text));
  if (auto module = cache.find(key)) return *std::move(module);
  fmt::print(stderr, "Building {}\n", source);
  return build(absolute, key, compiler, cache, files);
}

}  // namespace freshet::cli
