#include <fmt/format.h>

#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

struct ListOptions {
  ClusterSelection cluster;
  SettingsOptions settings;
};

struct CancelOptions {
  ClusterSelection cluster;
  SettingsOptions settings;
  std::string job;
};

Status list_jobs(const ListOptions& options) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  ClusterSelection selection = options.cluster;
  selection.secret = given.configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(const auto connection, ClusterConnection::connect(selection));
  ASSIGN_OR_RETURN(const auto jobs, connection->client().list());
  if (jobs.empty()) {
    fmt::print("No jobs.\n");
    return Status();
  }
  fmt::print("{:<32}  {:<10}  {:>9}  {:>8}  {:>14}  {}\n", "JOB", "STATE", "TASKS", "RESTARTS",
             "RECORDS READ", "NAME");
  for (const JobReport& job : jobs) {
    fmt::print("{:<32}  {:<10}  {:>9}  {:>8}  {:>14}  {}\n", job.id.to_string(),
               to_string(job.state),
               fmt::format("{}/{}", job.tasks_running + job.tasks_finished, job.tasks),
               job.restarts, job.source_records, job.name);
    if (!job.waiting_for.empty()) fmt::print("    waits for {}\n", job.waiting_for);
    if (!job.cause.ok()) fmt::print("    {}\n", job.cause.message());
  }
  return Status();
}

Status cancel_job(const CancelOptions& options) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  ASSIGN_OR_RETURN(const JobId job, JobId::parse(options.job));
  ClusterSelection selection = options.cluster;
  selection.secret = given.configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(const auto connection, ClusterConnection::connect(selection));
  RETURN_IF_ERROR(connection->client().cancel(job));
  fmt::print("Cancelling job {}.\n", job.to_string());
  return Status();
}

}  // namespace

void add_job_commands(CLI::App& parser, std::vector<Command>& commands) {
  auto list = std::make_shared<ListOptions>();
  CLI::App* const list_parser = parser.add_subcommand("list", "Show the jobs of a cluster");
  list->cluster.add_options(*list_parser);
  add_settings(*list_parser, list->settings);
  list_parser->footer("Example:\n  freshet list --cluster default");
  commands.push_back({list_parser, [list] { return report(list_jobs(*list)); }});

  auto cancel = std::make_shared<CancelOptions>();
  CLI::App* const cancel_parser =
      parser.add_subcommand("cancel", "Cancel a job; nothing of it is published");
  cancel_parser->add_option("JOB", cancel->job, "The job's id, as 'freshet list' shows it")
      ->required();
  cancel->cluster.add_options(*cancel_parser);
  add_settings(*cancel_parser, cancel->settings);
  cancel_parser->footer("Example:\n  freshet cancel 5f0c4a1e9d8b7c6a5f0c4a1e9d8b7c6a");
  commands.push_back({cancel_parser, [cancel] { return report(cancel_job(*cancel)); }});
}

}  // namespace freshet::cli
