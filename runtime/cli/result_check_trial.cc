#include "runtime/cli/result_check_trial.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/api/result_check_loader.h"
#include "runtime/app/child_program.h"
#include "runtime/app/process_host.h"
#include "runtime/base/crash_handler.h"
#include "runtime/base/file_system.h"
#include "runtime/base/running_code.h"
#include "runtime/base/standard_streams.h"
#include "runtime/chaos/result_checker.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

// What the process tells begins with one of these.
constexpr char kVerdict = 'V';
constexpr char kError = 'E';
constexpr char kCrash = 'C';
constexpr size_t kToldBytesMax = 4 << 20;

struct TrialOptions {
  std::string module;
  int parent = 0;
  std::vector<std::string> outputs;  // Names and directories, one after the other.
  std::vector<std::string> arguments;
};

void tell(int descriptor, char kind, const std::string& what) {
  const std::string text = kind + what;
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(descriptor, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

/// What the checker prints goes nowhere: its verdict is what is asked for.
int keep_output_for_verdict() {
  const int report = silence_standard_streams();
  set_crash_listener([report](const CrashReport& crash) {
    std::string text = crash.summary();
    for (const std::string& frame : crash.frames) text += "\n    at " + frame;
    tell(report, kCrash, text);
  });
  return report;
}

Result<chaos::OutputVerdict> judge(const TrialOptions& options) {
  std::vector<chaos::SinkOutput> outputs;
  for (size_t i = 0; i + 1 < options.outputs.size(); i += 2)
    outputs.push_back({options.outputs[i], options.outputs[i + 1]});
  ASSIGN_OR_RETURN(const auto checker, load_result_check(options.module));
  return chaos::run_checker(checker, options.arguments, outputs, *make_local_file_system());
}

int check_once(const TrialOptions& options) {
  if (!end_with_parent(options.parent).ok()) return kExitFailed;
  const int report = keep_output_for_verdict();
  RunningCode code;
  code.is_task = false;
  const std::string name = "checker";
  code.name = &name;
  const RunningCodeScope scope(&code);
  const auto verdict = judge(options);
  if (verdict.ok()) {
    tell(report, kVerdict, chaos::to_text(*verdict));
  } else {
    tell(report, kError, verdict.status().message());
  }
  return kExitOk;
}

}  // namespace

Result<chaos::Verdict> check_result(const std::string& module,
                                    const std::vector<std::string>& arguments,
                                    const std::vector<chaos::SinkOutput>& outputs,
                                    Duration patience) {
  ASSIGN_OR_RETURN(const std::string program, own_program_path());
  std::vector<std::string> words = {"check-result", module, "--parent", std::to_string(getpid())};
  for (const chaos::SinkOutput& output : outputs) {
    for (const std::string& word : {output.name, output.directory})
      words.push_back("--output=" + word);
  }
  words.push_back("--");
  words.insert(words.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(
      const ChildOutcome outcome,
      run_child(program, words, ChildOutput::kCaptured,
                {.patience = patience, .output_bytes_max = kToldBytesMax, .environment = {}}));
  if (outcome.overdue) {
    return failed_precondition(
        fmt::format("the checker of the job did not return within {}", format_duration(patience)));
  }
  const char kind = outcome.output.empty() ? '\0' : outcome.output.front();
  const std::string told = outcome.output.empty() ? "" : outcome.output.substr(1);
  if (kind == kError) return failed_precondition(told);
  if (kind == kVerdict) {
    ASSIGN_OR_RETURN(chaos::OutputVerdict verdict, chaos::parse_output_verdict(told));
    verdict.name = "result";
    return chaos::Verdict{.judge = "the checker of the job", .outputs = {std::move(verdict)}};
  }
  if (kind == kCrash || outcome.by_signal) {
    return failed_precondition(
        fmt::format("the checker of the job crashed: {}", told.empty() ? outcome.how : told));
  }
  return failed_precondition(
      fmt::format("the checker of the job ended its process ({}); it must return", outcome.how));
}

void add_result_check_command(CLI::App& parser, const Invocation& invocation,
                              std::vector<Command>& commands) {
  auto options = std::make_shared<TrialOptions>();
  options->arguments = invocation.job_arguments;
  CLI::App* const trial = parser.add_subcommand("check-result", "Started by 'freshet chaos'");
  trial->group("");  // Not shown in --help.
  trial->add_option("MODULE", options->module)->required();
  trial->add_option("--parent", options->parent)->required();
  trial->add_option("--output", options->outputs)->take_all();
  commands.push_back({trial, [options] { return check_once(*options); }});
}

}  // namespace freshet::cli
