#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/api/dl_module_loader.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/command.h"
#include "runtime/cli/job_source.h"

namespace freshet::cli {

namespace {

namespace paths = std::filesystem;

constexpr size_t kHiddenNameMax = 200;  // Of 255 that a name may have.

struct BuildCommandOptions {
  std::vector<std::string> sources;
  std::string output;
  std::vector<std::string> flags;
  Answer answer;
};

/// A file beside the output, so that a module appears at once and only when it is good. Removed
/// unless it was renamed.
struct UnfinishedModule {
  std::string path;
  FileSystem& files;
  ~UnfinishedModule() { static_cast<void>(files.remove(path)); }
};

Status check_sources(const BuildCommandOptions& options, FileSystem& files) {
  for (const std::string& source : options.sources) {
    if (!is_source(source)) {
      return invalid_argument(
          fmt::format("{} is not called like a C++ source, which ends in .cc, .cpp or .cxx; other "
                      "files for the compiler go behind '--'",
                      source));
    }
    RETURN_IF_ERROR(check_source(source, files));
    std::error_code none;
    if (paths::equivalent(source, options.output, none)) {
      return invalid_argument(
          fmt::format("-o {} is a source of the job, which would be lost", options.output));
    }
  }
  return Status();
}

Status check_output(const std::string& output, const std::string& unfinished, FileSystem& files) {
  const auto there = files.info(output);
  const bool possible = there.ok() || there.status().code() == StatusCode::kNotFound;
  Status status = possible ? files.create(unfinished).status() : there.status();
  if (status.ok() && there.ok() && (there->is_directory || there->is_special)) {
    static_cast<void>(files.remove(unfinished));
    status = failed_precondition("something is there that is no file");
  }
  // The file that was tried goes: the linker makes its own, which may be run.
  if (status.ok()) status = files.remove(unfinished);
  return status.with_context("cannot write the module " + output);
}

Status build_module(BuildCommandOptions options) {
  if (options.output.empty())
    options.output = paths::path(options.sources.front()).stem().string() + ".so";
  const auto files = make_local_file_system();
  RETURN_IF_ERROR(check_sources(options, *files));
  const paths::path output(options.output);
  const std::string hidden =
      fmt::format(".{}.{}", output.filename().string().substr(0, kHiddenNameMax), getpid());
  const UnfinishedModule module{(output.parent_path() / hidden).string(), *files};
  RETURN_IF_ERROR(check_output(options.output, module.path, *files));
  ASSIGN_OR_RETURN(const JobCompiler compiler, find_job_compiler(*files));
  JobCompiler::Request request;
  request.sources = options.sources;
  request.flags = options.flags;
  request.module = module.path;
  RETURN_IF_ERROR(compiler.compile(request));
  ASSIGN_OR_RETURN(const std::string bytes, files->read_all(module.path));
  if (const Status wrong = check_module(bytes); !wrong.ok())
    return failed_precondition(fmt::format("{}: {}", options.output, wrong.message()));
  RETURN_IF_ERROR(files->rename(module.path, options.output));
  if (options.answer.json())
    return options.answer.give({{"module", options.output}, {"sources", options.sources}});
  fmt::print("Built {}\n", options.output);
  return Status();
}

}  // namespace

void add_build_command(CLI::App& parser, const Invocation& invocation,
                       std::vector<Command>& commands) {
  auto options = std::make_shared<BuildCommandOptions>();
  options->flags = invocation.job_arguments;
  CLI::App* const build_parser = parser.add_subcommand(
      "build", "Build a job module from its source: FILE... [-o MODULE] -- FLAGS of the compiler");
  build_parser->add_option("FILE", options->sources, "C++ sources of one job")->required();
  build_parser
      ->add_option("-o", options->output,
                   "The module to make (default: in this directory, called after the first FILE)")
      ->type_name("MODULE")
      ->allow_extra_args(false);
  options->answer.add_flag(*build_parser);
  build_parser->footer(
      "Examples:\n  freshet build latency.cc\n"
      "  freshet build latency.cc parser.cc -o jobs/latency.so -- -Iinclude -lz\n"
      "It takes the compiler and the flags of the library. CXX names another compiler, CXXFLAGS "
      "adds flags.\n'freshet run FILE.cc' builds and runs a job of one file.");
  commands.push_back(
      {build_parser, [options] { return options->answer.report(build_module(*options)); }});
}

}  // namespace freshet::cli
