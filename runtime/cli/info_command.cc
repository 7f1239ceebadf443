#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/cli/answer.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"
#include "runtime/cli/job_preparation.h"
#include "runtime/graph/json_plan.h"

namespace freshet::cli {

namespace {

struct InfoOptions {
  JobOptions job;
  SettingsOptions settings;
  Answer answer;
};

Status show_plan(InfoOptions& options) {
  options.answer.reserve_output();
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  ASSIGN_OR_RETURN(const BuildOptions build, build_options(options.job, given.configuration));
  const auto job = prepare_job(options.job, build, given.configuration);
  if (job.status().code() == StatusCode::kAborted) {  // The job was asked for its options.
    if (options.answer.json()) return options.answer.give({{"help", job.status().message()}});
    fmt::print("{}\n", job.status().message());
    return Status();
  }
  RETURN_IF_ERROR(job.status());
  const Submission& submission = job->submission;
  const std::string plan = json_plan(submission.graph, JobId().to_string(), submission.name, 2);
  if (options.answer.json())
    return options.answer.give(nlohmann::ordered_json::parse(plan, nullptr, false));
  fmt::print("{}\n", plan);
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
  options->answer.add_flag(*info_parser,
                           "Nothing but the plan, whatever the job prints; errors as an object");
  info_parser->footer(
      "Example:\n  freshet info jobs/wordcount.so -p 4 -- --input 'docs/*.txt' --output counts");
  commands.push_back(
      {info_parser, [options] { return options->answer.report(show_plan(*options)); }});
}

}  // namespace freshet::cli
