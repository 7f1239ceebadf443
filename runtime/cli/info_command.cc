#include <fmt/format.h>

#include <memory>

#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"
#include "runtime/cli/job_preparation.h"
#include "runtime/graph/json_plan.h"

namespace freshet::cli {

namespace {

struct InfoOptions {
  JobOptions job;
  SettingsOptions settings;
};

Status show_plan(const InfoOptions& options) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  ASSIGN_OR_RETURN(const BuildOptions build, build_options(options.job, given.configuration));
  const auto job = prepare_job(options.job, build, given.configuration);
  if (job.status().code() == StatusCode::kAborted) {  // The job was asked for its options.
    fmt::print("{}\n", job.status().message());
    return Status();
  }
  RETURN_IF_ERROR(job.status());
  const Submission& submission = job->submission;
  fmt::print("{}\n", json_plan(submission.graph, JobId().to_string(), submission.name, 2));
  return Status();
}

}  // namespace

void add_info_command(CLI::App& parser, const Invocation& invocation,
                      std::vector<Command>& commands) {
  auto options = std::make_shared<InfoOptions>();
  options->job.arguments = invocation.job_arguments;
  CLI::App* const info_parser = parser.add_subcommand(
      "info", "Show the plan of a job as JSON, without running it: MODULE [options] -- ARGS");
  add_job_options(*info_parser, options->job);
  add_settings(*info_parser, options->settings);
  info_parser->footer(
      "Example:\n  freshet info jobs/wordcount.so -p 4 -- --input 'docs/*.txt' --output counts");
  commands.push_back({info_parser, [options] { return report(show_plan(*options)); }});
}

}  // namespace freshet::cli
