#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/version.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  freshet cluster start --taskmanagers 2 --slots 2
  freshet run jobs/wordcount.so -p 4 -- --input 'docs/*.txt' --output counts
  freshet list
  freshet cluster stop

  freshet run --local jobs/wordcount.so -- --input README.md --output counts

'freshet COMMAND --help' shows the options of one command.
Exit codes: 0 done, 1 failed, 2 wrong usage.)";

/// Everything behind the first `--` belongs to the job, whatever it looks like.
Invocation split_off_job_arguments(std::vector<std::string>& arguments) {
  Invocation invocation;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator == arguments.end()) return invocation;
  invocation.has_job_arguments = true;
  invocation.job_arguments.assign(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return invocation;
}

int on_parse_error(const CLI::App& parser, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return parser.exit(error) == 0 ? kExitOk : kExitFailed;  // --help and --version.
  }
  fmt::print(stderr, "freshet: {}\nSee 'freshet --help', or 'freshet COMMAND --help'.\n",
             error.what());
  return kExitUsage;
}

int run(std::vector<std::string> arguments) {
  CLI::App parser("Freshet: streaming and batch dataflow jobs on a cluster of processes",
                  "freshet");
  parser.set_version_flag("--version", "freshet " FRESHET_VERSION);
  parser.require_subcommand(1);
  parser.footer(kExamples);
  const Invocation invocation = split_off_job_arguments(arguments);
  std::vector<Command> commands;
  add_run_command(parser, invocation, commands);
  add_job_commands(parser, commands);
  add_cluster_commands(parser, commands);
  add_process_commands(parser, commands);
  add_supervisor_command(parser, commands);
  std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants a vector.
  try {
    parser.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return on_parse_error(parser, error);
  }
  for (const Command& command : commands) {
    if (!command.parser->parsed()) continue;
    if (invocation.has_job_arguments && command.parser->get_name() != "run") {
      fmt::print(stderr,
                 "freshet: arguments after '--' belong to a job; only 'freshet run' takes them\n");
      return kExitUsage;
    }
    return command.run();
  }
  return kExitUsage;
}

}  // namespace

}  // namespace freshet::cli

int main(int count, char** values) {
  return freshet::cli::run(std::vector<std::string>(values + 1, values + count));
}
