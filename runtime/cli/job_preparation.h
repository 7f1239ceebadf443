#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/app/control_client.h"
#include "runtime/base/configuration.h"
#include "runtime/base/status.h"
#include "runtime/graph/job_module.h"
#include "runtime/graph/logical_graph.h"

namespace freshet::cli {

/// What a command line says of a job.
struct JobOptions {
  std::string module;           // Or the source of one.
  std::string state_directory;  // Where what was built from a source is kept; empty: the default.
  std::string parallelism = "1";
  std::string mode = "streaming";
  std::string build_timeout = "1 min";
  std::vector<std::string> arguments;
};

/// Adds MODULE, `--parallelism` and `--mode`.
void add_job_options(CLI::App& parser, JobOptions& options);

/// A job that can be submitted: nothing is wrong with it as far as a client can see.
struct PreparedJob {
  std::string module_bytes;
  Submission submission;
  std::string module_path;  // Of the module; of a source, what was built from it.
};

/// How long records may wait in an output, in milliseconds; kNeverFlushedByTime when that is
/// switched off.
Result<uint64_t> buffer_timeout_of(const Configuration&);

/// What the builder of the job is given. kInvalidArgument when an option makes no sense.
Result<BuildOptions> build_options(const JobOptions&, const Configuration&);

/// Reads and builds the job, twice. kAborted, with the text to show, when the job was asked for its
/// options; kInvalidArgument when they are wrong. `inspect` may refuse what was built.
Result<PreparedJob> prepare_job(const JobOptions&, const BuildOptions&, const Configuration&,
                                const std::function<Status(const LogicalGraph&)>& inspect = {});

}  // namespace freshet::cli
