#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

struct FailOptions {
  ClusterSelection cluster;
  SettingsOptions settings;
  std::string job;
  std::string subtask;
  std::string how = "exception";
  Answer answer;
};

struct Target {
  std::string vertex;
  uint32_t subtask = 0;
};

/// A name may have slashes of its own.
Result<Target> parse_target(const std::string& text) {
  const size_t slash = text.rfind('/');
  if (slash == text.npos || slash == 0) {
    return invalid_argument(
        fmt::format("'{}' is no VERTEX/SUBTASK, such as 1/0: 'freshet list -v' shows them", text));
  }
  const auto number =
      parse_number("SUBTASK of VERTEX/SUBTASK", text.substr(slash + 1), 0, kParallelismMax - 1);
  if (!number.ok()) return number.status();
  return Target{text.substr(0, slash), *number};
}

Result<ProvokedFailure> parse_failure(const std::string& how) {
  for (const ProvokedFailure one : kProvokedFailures) {
    if (to_string(one) == how) return one;
  }
  return invalid_argument("--how " + how + ": it is exception, hang or crash");
}

Status fail_task(const FailOptions& options) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  ASSIGN_OR_RETURN(const JobId job, JobId::parse(options.job));
  ASSIGN_OR_RETURN(const Target target, parse_target(options.subtask));
  ASSIGN_OR_RETURN(const ProvokedFailure failure, parse_failure(options.how));
  ClusterSelection selection = options.cluster;
  selection.secret = given.configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(const auto connection, ClusterConnection::connect(selection));
  ASSIGN_OR_RETURN(const std::string task,
                   connection->client().fail_task(job, target.vertex, target.subtask, failure));
  if (options.answer.json())
    return options.answer.give(
        {{"jid", job.to_string()}, {"task", task}, {"failure", options.how}});
  fmt::print("Told to fail by {}: {}.\n", options.how, task);
  return Status();
}

}  // namespace

void add_fail_command(CLI::App& parser, std::vector<Command>& commands) {
  auto fail = std::make_shared<FailOptions>();
  CLI::App* const fail_parser = parser.add_subcommand(
      "fail", "Have one task of a running job fail, to see what happens then");
  fail_parser->add_option("JOB", fail->job, "The job's id, as 'freshet list' shows it")->required();
  fail_parser
      ->add_option("VERTEX/SUBTASK", fail->subtask,
                   "Number or name of a vertex, and a subtask from 0, as 'freshet list -v' shows")
      ->required();
  fail_parser
      ->add_option("--how", fail->how,
                   "exception: as if its operator threw; hang: it never returns and holds its "
                   "thread; crash: it brings down its TaskManager (default: exception)")
      ->type_name("HOW");
  fail->answer.add_flag(*fail_parser);
  fail->cluster.add_options(*fail_parser);
  add_settings(*fail_parser, fail->settings);
  fail_parser->footer(
      "Examples:\n  freshet fail 5f0c4a1e9d8b7c6a5f0c4a1e9d8b7c6a 1/0\n"
      "  freshet fail 5f0c4a1e9d8b7c6a5f0c4a1e9d8b7c6a 'count/3' --how crash");
  commands.push_back({fail_parser, [fail] { return fail->answer.report(fail_task(*fail)); }});
}

}  // namespace freshet::cli
