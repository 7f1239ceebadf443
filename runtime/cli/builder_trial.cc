#include "runtime/cli/builder_trial.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/api/built_job.h"
#include "runtime/api/dl_module_loader.h"
#include "runtime/app/child_program.h"
#include "runtime/app/process_host.h"
#include "runtime/base/crash_handler.h"
#include "runtime/base/file_system.h"
#include "runtime/base/running_code.h"
#include "runtime/base/standard_streams.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

constexpr std::string_view kReturned = "returned";

struct TrialOptions {
  std::string module;
  uint32_t parallelism = 1;
  std::string mode;
  int parent = 0;
  std::vector<std::string> settings;  // Words of all names and values, one after the other.
  std::vector<std::string> arguments;
};

/// What the builder prints is printed when the job is built for good; here only a crash is told.
int keep_output_for_crashes() {
  const int report = silence_standard_streams();
  set_crash_listener([report](const CrashReport& crash) {
    std::string text = crash.summary();
    for (const std::string& frame : crash.frames) text += "\n    at " + frame;
    [[maybe_unused]] const ssize_t written = write(report, text.data(), text.size());
  });
  return report;
}

int build_once(const TrialOptions& options) {
  if (!end_with_parent(options.parent).ok()) return kExitFailed;
  BuildOptions build;
  build.arguments = options.arguments;
  build.parallelism = options.parallelism;
  const auto mode = parse_runtime_mode(options.mode);
  if (!mode.ok() || options.settings.size() % 2 != 0) return kExitUsage;
  build.mode = *mode;
  for (size_t i = 0; i < options.settings.size(); i += 2)
    build.configuration[options.settings[i]] = options.settings[i + 1];
  const int report = keep_output_for_crashes();
  const auto files = make_local_file_system();
  DlModuleLoader loader(*files);
  RunningCode code;
  code.is_task = false;
  const std::string name = "builder";
  code.name = &name;
  const RunningCodeScope scope(&code);
  // Whatever else is wrong with it is said by who builds it for good.
  try {
    const auto module = loader.load(options.module);
    if (module.ok()) (void)build_twice(**module, build);
  } catch (...) {
  }
  [[maybe_unused]] const ssize_t written = write(report, kReturned.data(), kReturned.size());
  return kExitOk;
}

}  // namespace

Status try_builder(const std::string& module, const BuildOptions& build, Duration patience) {
  ASSIGN_OR_RETURN(const std::string program, own_program_path());
  std::vector<std::string> words = {"try-builder",   module,
                                    "--parallelism", std::to_string(build.parallelism),
                                    "--mode",        std::string(to_string(build.mode)),
                                    "--parent",      std::to_string(getpid())};
  for (const auto& [key, value] : build.configuration) {
    for (const std::string& word : {key, value}) words.push_back("--setting=" + word);
  }
  words.push_back("--");
  words.insert(words.end(), build.arguments.begin(), build.arguments.end());
  ASSIGN_OR_RETURN(const ChildOutcome outcome,
                   run_child(program, words, ChildOutput::kCaptured, {.patience = patience}));
  if (outcome.overdue) {
    return failed_precondition(
        fmt::format("the function of the job in {} did not return within {} (--build-timeout)",
                    module, format_duration(patience)));
  }
  if (outcome.output == kReturned) return Status();
  if (!outcome.by_signal) {
    return failed_precondition(
        fmt::format("the function of the job in {} ended its process ({}); it must return", module,
                    outcome.how));
  }
  return failed_precondition(fmt::format("the function of the job in {} crashed: {}", module,
                                         outcome.output.empty() ? outcome.how : outcome.output));
}

void add_builder_trial_command(CLI::App& parser, const Invocation& invocation,
                               std::vector<Command>& commands) {
  auto options = std::make_shared<TrialOptions>();
  options->arguments = invocation.job_arguments;
  CLI::App* const trial = parser.add_subcommand("try-builder", "Started by 'freshet run'");
  trial->group("");  // Not shown in --help.
  trial->add_option("MODULE", options->module)->required();
  trial->add_option("--parallelism", options->parallelism)->required();
  trial->add_option("--mode", options->mode)->required();
  trial->add_option("--parent", options->parent)->required();
  trial->add_option("--setting", options->settings)->take_all();
  commands.push_back({trial, [options] { return build_once(*options); }});
}

}  // namespace freshet::cli
