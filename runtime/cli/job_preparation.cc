#include "runtime/cli/job_preparation.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "runtime/api/built_job.h"
#include "runtime/api/dl_module_loader.h"
#include "runtime/base/file_system.h"
#include "runtime/base/hash.h"
#include "runtime/cli/builder_trial.h"
#include "runtime/cli/command.h"
#include "runtime/cli/job_source.h"
#include "runtime/graph/buffer_timeout.h"
#include "runtime/graph/logical_graph.h"

namespace freshet::cli {

namespace {

constexpr uint64_t kModuleBytesMax = 200u << 20;

}  // namespace

void add_job_options(CLI::App& parser, JobOptions& options) {
  parser
      .add_option("MODULE", options.module,
                  "The job: a shared object, or a C++ source that is built first")
      ->required();
  parser
      .add_option("-p,--parallelism", options.parallelism,
                  "Subtasks of each operator that does not say (default: 1)")
      ->type_name("N");
  parser.add_option("--mode", options.mode, "streaming, batch or automatic (default: streaming)")
      ->type_name("MODE");
  parser
      .add_option("--build-timeout", options.build_timeout,
                  "How long the function of the job may take (default: 1 min)")
      ->type_name("TIME");
}

Result<BuildOptions> build_options(const JobOptions& options, const Configuration& configuration) {
  BuildOptions build;
  build.arguments = options.arguments;
  build.configuration = configuration.values();
  build.configuration.erase(std::string(config::kSecret.name));  // Of this process, not of the job.
  ASSIGN_OR_RETURN(build.parallelism, parse_number("-p", options.parallelism, 1, kParallelismMax));
  ASSIGN_OR_RETURN(build.mode, parse_runtime_mode(options.mode));
  std::error_code error;
  const std::string directory = std::filesystem::current_path(error).string();
  if (!error) build.configuration.emplace(config::kWorkingDirectory.name, directory);
  return build;
}

Result<uint64_t> buffer_timeout_of(const Configuration& configuration) {
  ASSIGN_OR_RETURN(const Duration timeout, configuration.duration(config::kBufferTimeout));
  auto millis = buffer_timeout_ms_of(timeout);
  if (!millis.ok()) {
    return millis.status().with_context(fmt::format("{}={}", config::kBufferTimeout.name,
                                                    configuration.text(config::kBufferTimeout)));
  }
  ASSIGN_OR_RETURN(const bool enabled, configuration.boolean(config::kBufferTimeoutEnabled));
  return enabled ? millis : kNeverFlushedByTime;
}

Result<PreparedJob> prepare_job(const JobOptions& options, const BuildOptions& build,
                                const Configuration& configuration,
                                const std::function<Status(const LogicalGraph&)>& inspect) {
  PreparedJob job;
  const auto files = make_local_file_system();
  std::string path = options.module;
  if (is_source(path)) {
    ASSIGN_OR_RETURN(path, module_of_source(path, options.state_directory, *files));
  }
  auto bytes = files->read_all(path, kModuleBytesMax);
  if (!bytes.ok()) return bytes.status().with_context("cannot read the job module");
  job.module_bytes = *std::move(bytes);
  const auto patience = parse_duration(options.build_timeout);
  if (!patience.ok()) return patience.status().with_context("--build-timeout");
  RETURN_IF_ERROR(try_builder(path, build, *patience));
  DlModuleLoader loader(*files);
  auto module = loader.load_bytes(job.module_bytes, path);
  // Not everywhere is there a file in memory; then it is mapped from where it lies.
  if (module.status().code() == StatusCode::kUnavailable) module = loader.load(path);
  // Its bytes are wrong, not what the user wrote.
  if (!module.ok()) return failed_precondition(module.status().message());
  ASSIGN_OR_RETURN(const auto built, build_twice(**module, build));
  JobGraphOptions graph_options;
  graph_options.parallelism = build.parallelism;
  graph_options.mode = build.mode;
  ASSIGN_OR_RETURN(graph_options.buffer_timeout_ms, buffer_timeout_of(configuration));
  auto graph = build_job_graph(built->graph(), graph_options);
  if (!graph.ok()) return graph.status().with_context(built->name());
  if (inspect) RETURN_IF_ERROR(inspect(built->graph()));
  job.submission.name = built->name();
  job.submission.module_hash = content_hash(job.module_bytes);
  job.submission.build = build;
  job.submission.fingerprint = fingerprint_of(built->graph());
  job.submission.graph = *std::move(graph);
  job.module_path = path;
  return job;
}

}  // namespace freshet::cli
