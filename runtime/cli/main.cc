#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "runtime/base/crash_handler.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/standard_streams.h"
#include "runtime/base/version.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  freshet cluster start --taskmanagers 2 --slots 2
  freshet run jobs/wordcount.so -p 4 -- --input 'docs/*.txt' --output counts
  freshet list
  freshet cluster stop

  freshet run --local jobs/wordcount.so -- --input README.md --output counts
  freshet build latency.cc

'freshet help COMMAND', or 'freshet COMMAND --help', shows the options of one command.
Exit codes: 0 done, 1 failed, 2 wrong usage.)";

/// What stands behind `--` in this command; nullptr: nothing may.
const char* behind_separator(const std::string& command) {
  if (command == "run" || command == "info" || command == "chaos" || command == "try-builder" ||
      command == "build-upload" || command == "check-result")
    return "MODULE -- ARGS";
  if (command == "complete-word") return "-- WORDS";
  return command == "build" ? "FILE -- FLAGS" : nullptr;
}

/// Everything behind the first `--` belongs to the job (or the compiler), whatever it looks like.
Invocation split_off_job_arguments(std::vector<std::string>& arguments) {
  Invocation invocation;
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator == arguments.end()) return invocation;
  invocation.has_job_arguments = true;
  invocation.job_arguments.assign(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return invocation;
}

/// Quoted for a shell where that is needed.
std::string as_typed(const std::vector<std::string>& arguments) {
  std::string line = "freshet";
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && argument.find_first_not_of(
                                                "abcdefghijklmnopqrstuvwxyz"
                                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                "0123456789-_./=:,@%+") == std::string::npos;
    std::string quoted;
    for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    line += plain ? " " + argument : " '" + quoted + "'";
  }
  return line;
}

std::vector<const CLI::App*> visible_commands(const CLI::App& of) {
  return of.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

std::vector<std::string> names_of_commands(const CLI::App& of) {
  std::vector<std::string> names;
  for (const CLI::App* one : visible_commands(of)) names.push_back(one->get_name());
  return names;
}

std::string no_command(const CLI::App& of, const std::string& word) {
  const std::vector<std::string> names = names_of_commands(of);
  if (const auto nearest = nearest_name(word, {names.begin(), names.end()}))
    return fmt::format("there is no command '{}'; did you mean '{}'?", word, *nearest);
  return fmt::format("there is no command '{}'; there are {}", word, fmt::join(names, ", "));
}

/// What is said of the first word that ought to name a subcommand and does not; nullopt when all
/// do.
std::optional<std::string> unknown_command(const CLI::App& parser,
                                           const std::vector<std::string>& arguments) {
  const CLI::App* at = &parser;
  for (const std::string& word : arguments) {
    const auto subcommands = at->get_subcommands([](const CLI::App*) { return true; });
    if (subcommands.empty() || word.starts_with('-')) return std::nullopt;
    const auto named = std::find_if(subcommands.begin(), subcommands.end(),
                                    [&](const CLI::App* one) { return one->get_name() == word; });
    if (named == subcommands.end()) return no_command(*at, word);
    at = *named;
  }
  return std::nullopt;
}

/// The one that the command line names, as far as it does.
const CLI::App& deepest_command(const CLI::App& parser) {
  const CLI::App* at = &parser;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

/// What was meant by the first option that the command does not know; empty when nothing is near.
std::string meant_option(const CLI::App& parser) {
  const CLI::App& at = deepest_command(parser);
  std::vector<std::string> names;
  for (const CLI::Option* option : at.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : parser.remaining(true)) {
    if (!word.starts_with("--")) continue;
    const auto nearest = nearest_name(word.substr(0, word.find('=')), {names.begin(), names.end()});
    if (!nearest) continue;
    if (word.substr(0, word.find('=')) == *nearest)
      return fmt::format("; options of '{0}' go behind '{0}'", at.get_name());
    return fmt::format("; did you mean '{}'?", *nearest);
  }
  return "";
}

/// Of a command line that ends before it names what to do.
std::string missing_command(const CLI::App& of, const std::vector<std::string>& extras) {
  const std::string before =
      extras.empty() ? "" : fmt::format("not expected: {}; ", fmt::join(extras, " "));
  return fmt::format("{}a command is missing; there are {}", before,
                     fmt::join(names_of_commands(of), ", "));
}

std::string explain(const CLI::App& parser, const CLI::ParseError& error,
                    const std::vector<std::string>& arguments, const Invocation& invocation) {
  if (auto unknown = unknown_command(parser, arguments)) return *std::move(unknown);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool extras = code == CLI::ExitCodes::ExtrasError;
  const CLI::App& deepest = deepest_command(parser);
  if (code == CLI::ExitCodes::RequiredError && !visible_commands(deepest).empty())
    return missing_command(deepest, parser.remaining(true));
  if (!extras) return error.what();
  std::string message = fmt::format("not expected: {}{}", fmt::join(parser.remaining(true), " "),
                                    meant_option(parser));
  const char* const behind = behind_separator(arguments.front());
  if (behind != nullptr && !invocation.has_job_arguments) {
    const bool build = arguments.front() == "build";
    message += fmt::format("\n{} go behind '--': freshet {} {}",
                           build ? "Flags of the compiler" : "Arguments of the job",
                           arguments.front(), behind);
  }
  return message;
}

/// What no command was there to say.
int wrong_usage(const std::string& what, const std::vector<std::string>& arguments) {
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (json) fmt::print("{}", document_text(errors_json(what)));
  return kExitUsage;
}

int refuse_command_line(const std::string& what, const std::vector<std::string>& arguments) {
  fmt::print(stderr, "freshet: {}\nSee 'freshet --help', or 'freshet COMMAND --help'.\n", what);
  return wrong_usage(what, arguments);
}

int on_parse_error(const CLI::App& parser, const CLI::ParseError& error,
                   const std::vector<std::string>& arguments, const Invocation& invocation) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return parser.exit(error) == 0 ? kExitOk : kExitFailed;  // --help and --version.
  }
  return refuse_command_line(explain(parser, error, arguments, invocation), arguments);
}

/// `help COMMAND` is `COMMAND --help`. False: it is something else.
bool take_help(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return false;
  arguments.erase(arguments.begin());
  return true;
}

int run(std::vector<std::string> arguments) {
  CLI::App parser("Freshet: streaming and batch dataflow jobs on a cluster of processes",
                  "freshet");
  parser.set_version_flag("--version", "freshet " FRESHET_VERSION);
  parser.require_subcommand(1);
  parser.footer(kExamples);
  const std::string command_line = as_typed(arguments);
  Invocation invocation = split_off_job_arguments(arguments);
  invocation.command_line = command_line;
  std::vector<Command> commands;
  add_run_command(parser, invocation, commands);
  add_info_command(parser, invocation, commands);
  add_build_command(parser, invocation, commands);
  add_job_commands(parser, commands);
  add_fail_command(parser, commands);
  add_chaos_command(parser, invocation, commands);
  add_cluster_commands(parser, commands);
  add_config_command(parser, commands);
  add_process_commands(parser, commands);
  add_supervisor_command(parser, commands);
  add_builder_trial_command(parser, invocation, commands);
  add_result_check_command(parser, invocation, commands);
  add_upload_command(parser, invocation, commands);
  add_completion_command(parser, invocation, commands);
  if (take_help(arguments)) {
    if (const auto unknown = unknown_command(parser, arguments))
      return refuse_command_line(*unknown, arguments);
    arguments.push_back("--help");
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // As CLI11 wants it.
  try {
    parser.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return on_parse_error(parser, error, arguments, invocation);
  }
  for (const Command& command : commands) {
    if (!command.parser->parsed()) continue;
    if (invocation.has_job_arguments && behind_separator(command.parser->get_name()) == nullptr) {
      constexpr const char* kWhat =
          "arguments after '--' belong to a job or a compiler; only 'freshet run', 'freshet info', "
          "'freshet chaos' and 'freshet build' take them";
      fmt::print(stderr, "freshet: {}\n", kWhat);
      return wrong_usage(kWhat, arguments);
    }
    return command.run();
  }
  return kExitUsage;
}

/// fmt and the standard library throw when standard output or standard error takes nothing.
int run_and_flush(std::vector<std::string> arguments) {
  int code = kExitFailed;
  bool thrown = false;
  try {
    code = run(std::move(arguments));
  } catch (const std::bad_alloc&) {
    thrown = true;
    std::fputs("freshet: no memory is left; see 'ulimit -a'\n", stderr);
  } catch (const std::system_error& error) {
    thrown = true;
    const bool at_limit = error.code() == std::errc::resource_unavailable_try_again;
    std::fprintf(stderr, "freshet: %s%s\n", error.what(),
                 at_limit ? "; no more memory or threads may be had here, see 'ulimit -a'" : "");
  }
  const Status flushed = flush_standard_output();
  if (flushed.ok() && !thrown) return code;
  if (!flushed.ok()) std::fprintf(stderr, "freshet: %s\n", flushed.message().c_str());
  return code == kExitOk ? kExitFailed : code;
}

std::atomic<bool> came_to_its_end = false;

/// Code of users that calls exit() must not look like success. Whoever listens for crashes is told
/// whose code it was, as of any other end in the middle.
void fail_unless_at_the_end() {
  if (came_to_its_end.load()) return;
  if (has_crash_listener()) {
    note_abort_reason("exit() was called");
    std::abort();
  }
  constexpr std::string_view kWhy = "freshet: exit() was called by code of the job\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWhy.data(), kWhy.size());
  std::_Exit(kExitFailed);
}

}  // namespace

}  // namespace freshet::cli

int main(int count, char** values) {
  std::atexit(freshet::cli::fail_unless_at_the_end);
  std::at_quick_exit(freshet::cli::fail_unless_at_the_end);
  freshet::occupy_closed_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // Who writes more than it may is told so.
  freshet::install_crash_handler();
  const int code =
      freshet::cli::run_and_flush(std::vector<std::string>(values + 1, values + count));
  freshet::stay_if_crashed();
  freshet::cli::came_to_its_end = true;
  return code;
}
