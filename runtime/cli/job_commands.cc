#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"
#include "runtime/cli/job_list_view.h"

namespace freshet::cli {

namespace {

struct ListOptions {
  ClusterSelection cluster;
  SettingsOptions settings;
  bool verbose = false;
  Answer answer;
};

struct CancelOptions {
  ClusterSelection cluster;
  SettingsOptions settings;
  std::string job;
  Answer answer;
};

/// Those who name them may have gone.
TaskManagerNames names_of(const std::vector<TaskManagerReport>& task_managers) {
  TaskManagerNames names;
  for (const TaskManagerReport& one : task_managers) names[one.id] = one.name;
  return names;
}

Status list_jobs(const ListOptions& options) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  ClusterSelection selection = options.cluster;
  selection.secret = given.configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(const auto connection, ClusterConnection::connect(selection));
  ControlClient& client = connection->client();
  ASSIGN_OR_RETURN(const auto jobs, client.list());
  std::vector<JobDetails> details;
  for (const JobReport& job : jobs) {
    details.push_back({job, {}});
    if (!options.verbose) continue;
    auto all = client.details(job.id);
    // It may have been forgotten since the list was made.
    if (!all.ok() && all.status().code() != StatusCode::kNotFound) return all.status();
    if (all.ok()) details.back() = *std::move(all);
  }
  TaskManagerNames names;
  if (options.verbose) {
    ASSIGN_OR_RETURN(const auto task_managers, client.task_managers());
    names = names_of(task_managers);
  }
  if (options.answer.json()) {
    fmt::print("{}", job_list_json(details, options.verbose, names));
  } else if (jobs.empty()) {
    fmt::print("No jobs.\n");
  } else if (!options.verbose) {
    fmt::print("{}", job_list_text(jobs));
  } else {
    for (const JobDetails& one : details)
      fmt::print("{}{}", job_list_text({one.job}), task_list_text(one, names));
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
  if (options.answer.json()) {
    const auto now = connection->client().get(job);
    return options.answer.give(now.ok() ? job_json(*now)
                                        : nlohmann::ordered_json{{"jid", job.to_string()}});
  }
  fmt::print("Cancelling job {}.\n", job.to_string());
  return Status();
}

}  // namespace

void add_job_commands(CLI::App& parser, std::vector<Command>& commands) {
  auto list = std::make_shared<ListOptions>();
  CLI::App* const list_parser = parser.add_subcommand("list", "Show the jobs of a cluster");
  list->cluster.add_options(*list_parser);
  add_settings(*list_parser, list->settings);
  list_parser->add_flag("-v,--verbose", list->verbose,
                        "With vertices and subtasks: state, attempt, records, share of its life "
                        "that each was busy or back-pressured");
  list->answer.add_flag(*list_parser, "An object with an array of jobs, for programs");
  list_parser->footer(
      "Examples:\n  freshet list --cluster default\n  freshet list -v\n"
      "  freshet list --json | jq '.jobs[] | select(.state == \"RUNNING\") | .jid'");
  commands.push_back({list_parser, [list] { return list->answer.report(list_jobs(*list)); }});

  auto cancel = std::make_shared<CancelOptions>();
  CLI::App* const cancel_parser =
      parser.add_subcommand("cancel", "Cancel a job; nothing of it is published");
  cancel_parser->add_option("JOB", cancel->job, "The job's id, as 'freshet list' shows it")
      ->required();
  cancel->answer.add_flag(*cancel_parser, "The job as an object, for programs");
  cancel->cluster.add_options(*cancel_parser);
  add_settings(*cancel_parser, cancel->settings);
  cancel_parser->footer("Example:\n  freshet cancel 5f0c4a1e9d8b7c6a5f0c4a1e9d8b7c6a");
  commands.push_back(
      {cancel_parser, [cancel] { return cancel->answer.report(cancel_job(*cancel)); }});
}

}  // namespace freshet::cli
