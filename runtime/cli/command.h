#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/configuration.h"
#include "runtime/base/status.h"

namespace freshet::cli {

/// What the shell is told.
enum ExitCode : int { kExitOk = 0, kExitFailed = 1, kExitUsage = 2 };

/// One subcommand: what CLI11 parses, and what to do once it has. Runs after all options were read.
struct Command {
  CLI::App* parser = nullptr;
  std::function<int()> run;
};

/// What comes from outside the parser.
struct Invocation {
  std::vector<std::string> job_arguments;  // After `--`.
  bool has_job_arguments = false;
  std::string command_line;  // As it could be typed.
};

/// Each adds its subcommands to the parser.
void add_process_commands(CLI::App& parser, std::vector<Command>& commands);
void add_cluster_commands(CLI::App& parser, std::vector<Command>& commands);
void add_supervisor_command(CLI::App& parser, std::vector<Command>& commands);
void add_build_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_run_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_info_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_job_commands(CLI::App& parser, std::vector<Command>& commands);
void add_builder_trial_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_result_check_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_upload_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_completion_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_chaos_command(CLI::App& parser, const Invocation&, std::vector<Command>& commands);
void add_fail_command(CLI::App& parser, std::vector<Command>& commands);
void add_config_command(CLI::App& parser, std::vector<Command>& commands);

/// Prints `freshet: message` to standard error and gives the exit code that fits: usage for
/// arguments that can never work.
int report(const Status&);

/// The same for what has failed though the command was well formed.
int fail(const Status&);

/// Adds `-D key=value`, which may come several times.
void add_settings(CLI::App& parser, std::vector<std::string>& pairs);
/// Checks names and values. Takes the secret from the environment when no setting gives it.
Result<Configuration> parse_settings(const std::vector<std::string>& pairs);

/// Refuses settings that only a job, or only a process, reads: here they would have no effect.
Status refuse_settings_of_jobs(const Configuration&);
Status refuse_settings_of_processes(const Configuration&);

/// How settings are given to another process. The secret goes by the environment: everybody on the
/// machine can read command lines.
struct HandedSettings {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};
HandedSettings hand_on(const Configuration&);

/// A number between bounds, with a message that names the option.
Result<uint32_t> parse_number(const std::string& option, const std::string& text, uint32_t minimum,
                              uint32_t maximum);
/// The same with the bounds of the setting that the option stands for.
Result<uint32_t> parse_number(const std::string& option, const std::string& text, const ConfigKey&);

inline constexpr uint32_t kParallelismMax = 32768;
inline constexpr uint32_t kTaskManagersMax = 1000;

}  // namespace freshet::cli
