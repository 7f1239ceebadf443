#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/app/fault_gate.h"
#include "runtime/app/job_manager_process.h"
#include "runtime/app/local_cluster.h"
#include "runtime/app/local_state.h"
#include "runtime/app/network_memory.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/crash_handler.h"
#include "runtime/base/file_system.h"
#include "runtime/base/log.h"
#include "runtime/base/process_environment.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"
#include "runtime/cli/job_follower.h"
#include "runtime/cli/job_list_view.h"
#include "runtime/cli/job_preparation.h"
#include "runtime/cli/progress_screen.h"
#include "runtime/graph/slot_sharing.h"

namespace freshet::cli {

namespace {

struct RunOptions {
  JobOptions job;
  bool detached = false;
  bool local = false;
  bool allow_faults = false;
  SettingsOptions settings;
  ClusterSelection cluster;
  Answer answer;
};

Status check_settings(const RunOptions& options, const GivenSettings& given) {
  const Configuration& configuration = given.configuration;
  if (options.detached && options.local) {
    return invalid_argument(
        "--local ends with the command, so it cannot be detached: leave out -d or --local");
  }
  if (options.local && options.cluster.is_given()) {
    return invalid_argument(
        "--local runs the job without a cluster: leave out --local, or --cluster, --jobmanager and "
        "--state-dir");
  }
  RETURN_IF_ERROR(
      buffer_timeout_of(configuration).status().with_context(given.origin(config::kBufferTimeout)));
  if (!options.local) return refuse_settings_of_processes(configuration);
  for (const ConfigKey* key : config_keys()) {
    if (is_read_by_local_job(*key) || !configuration.has(*key)) continue;
    return invalid_argument(fmt::format(
        "{} has no effect with --local, which opens no port and has as many slots as the job needs",
        key->name));
  }
  // As the process itself would, but before the job is looked at.
  RETURN_IF_ERROR(network_memory(configuration, *make_local_file_system()).status());
  RETURN_IF_ERROR(JobManagerProcess::check_settings(configuration));
  return check_faults(configuration, options.allow_faults);
}

bool prints(const JobGraph& graph) {
  for (const JobVertex& vertex : graph.vertices) {
    for (const ChainedOperator& one : vertex.operators) {
      if (one.sink && (one.name.starts_with("print") || one.name.starts_with("stdout")))
        return true;
    }
  }
  return false;
}

Result<JobId> submit(ControlClient& client, const PreparedJob& job) {
  RETURN_IF_ERROR(client.put_blob(job.submission.module_hash, job.module_bytes));
  return client.submit(job.submission);
}

/// What a job meets is shown as its progress; only what is wrong with this process itself is worth
/// a line.
void show_errors(void* /*context*/, LogLevel level, std::string_view line) {
  const bool error = level == LogLevel::kError && !line.starts_with("job_failed") &&
                     !line.starts_with("cancellation_timeout") &&
                     !line.starts_with("process_crashes") && !line.starts_with("crash_frame");
  if (error || line.starts_with("fault_never_fired")) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  }
}

/// Ends this process though threads of the job may still run. Leaves standard output alone: one of
/// them may hold it, and wait for a reader.
[[noreturn]] void leave_local(const std::string& state_directory) {
  static_cast<void>(make_local_file_system()->remove_all(state_directory));
  std::_Exit(kExitFailed);
}

void end_stuck(const Status& why, const std::string& job, const std::string& state_directory,
               const Answer& answer) {
  const auto screen = make_error_screen();
  screen->write(
      fmt::format("{}freshet: {}\nJob {} did not end; it ends with this process, and what it did "
                  "not publish may "
                  "stay beside its output.\n",
                  screen->columns() > 0 ? "\r\033[K" : "", why.message(), job));
  if (answer.json()) static_cast<void>(answer.give(errors_json(why.message())));
  leave_local(state_directory);
}

void show_crash(const CrashReport& crash, const Answer& answer) {
  const auto screen = make_error_screen();
  std::string text = screen->columns() > 0 ? "\r\033[K" : "";
  std::string what = fmt::format("this process crashes: {}", crash.summary());
  if (crash.job) {
    what = fmt::format("{}'{}' of the job brings this process down: {}",
                       crash.attempt ? "operator " : "", crash.code_name, crash.summary());
  }
  text += fmt::format("freshet: {}\n", what);
  for (const std::string& frame : crash.frames) text += "    at " + frame + "\n";
  screen->write(text);
  if (answer.json()) static_cast<void>(answer.give(errors_json(what)));
}

/// What became of a job.
nlohmann::ordered_json end_json(const JobId& id, const JobEnd& end) {
  nlohmann::ordered_json json = {{"jid", id.to_string()}};
  if (end.job) json = job_json(*end.job);
  json["duration"] = to_millis(end.took);
  if (!end.status.ok()) json["errors"] = {end.status.message()};
  return json;
}

/// Has told already, as text, how it ended.
int end_of(const Answer& answer, const JobId& id, const JobEnd& end) {
  const Status given = answer.json() ? answer.give(end_json(id, end)) : Status();
  if (!given.ok()) return report(given);
  return end.status.ok() ? kExitOk : kExitFailed;
}

/// Nothing is made where nobody expects it.
Result<std::string> temporary_directory() {
  const std::string place = environment_variable("TMPDIR").value_or("");
  if (place.empty()) return std::string("/tmp");
  const auto info = make_local_file_system()->info(place);
  if (info.ok() && info->is_directory) return place;
  return failed_precondition(fmt::format("TMPDIR is '{}', which is no directory: {}", place,
                                         info.ok() ? "set it to one" : info.status().message()));
}

int run_local(const RunOptions& options, const Configuration& configuration,
              const PreparedJob& job) {
  SignalWaiter signals;
  log_to_sink(show_errors, nullptr);
  LocalCluster::Options local;
  local.configuration = configuration;
  local.slots = share_slots(job.submission.graph).total;
  local.allow_faults = options.allow_faults;
  const auto place = temporary_directory();
  if (!place.ok()) return options.answer.fail(place.status());
  const std::string& temporary = *place;
  remove_stale_local_state(temporary, kLocalClusterState, *make_local_file_system());
  local.state_directory = local_state_directory(temporary, kLocalClusterState);
  local.on_fatal = [name = job.submission.name, state = local.state_directory,
                    answer = options.answer](const Status& why) {
    end_stuck(why, name, state, answer);
  };
  const auto cluster = LocalCluster::start(local);
  if (!cluster.ok()) return options.answer.fail(cluster.status());
  set_crash_listener(
      [state = local.state_directory, answer = options.answer](const CrashReport& crash) {
        show_crash(crash, answer);
        static_cast<void>(make_local_file_system()->remove_all(state));
      });
  ControlClient& client = (*cluster)->client();
  const TimePoint submitted = (*cluster)->clock().now();
  const auto id = submit(client, job);
  if (!id.ok()) return options.answer.fail(id.status());
  fmt::print(stderr, "Job has been submitted with JobID {}\n", id->to_string());
  const std::string left = fmt::format(
      "Left; job {} ends with this process, and what it did not publish may stay beside "
      "its output.",
      id->to_string());
  const JobEnd end = follow_job(client, *id, submitted, (*cluster)->clock(), signals, left);
  const int code = end_of(options.answer, *id, end);
  if (end.left) leave_local(local.state_directory);
  return code;
}

int run_on_cluster(const RunOptions& options, const Configuration& configuration,
                   const PreparedJob& job) {
  SignalWaiter signals;
  ClusterSelection selection = options.cluster;
  selection.secret = configuration.text(config::kSecret);
  if (const auto address = selection.address(); !address.ok())
    return options.answer.report(address.status());
  const auto connection = ClusterConnection::connect(selection);
  if (!connection.ok()) return options.answer.fail(connection.status());
  ControlClient& client = (*connection)->client();
  const TimePoint submitted = (*connection)->clock().now();
  const auto id = submit(client, job);
  if (!id.ok()) return options.answer.fail(id.status());
  fmt::print(options.answer.json() ? stderr : stdout, "Job has been submitted with JobID {}\n",
             id->to_string());
  std::fflush(stdout);
  if (prints(job.submission.graph)) {
    fmt::print(stderr,
               "What it prints goes to the .out files of the TaskManagers, beside the logs that "
               "'freshet cluster status' names; they grow with it until the cluster is stopped.\n");
  }
  if (options.detached) {
    const nlohmann::ordered_json json = {{"jid", id->to_string()}, {"name", job.submission.name}};
    return report(options.answer.json() ? options.answer.give(json) : Status());
  }
  const std::string left = fmt::format("Left; job {} is still being cancelled.", id->to_string());
  const JobEnd end = follow_job(client, *id, submitted, (*connection)->clock(), signals, left);
  return end_of(options.answer, *id, end);
}

int run(RunOptions options) {
  Answer& answer = options.answer;
  answer.reserve_output();
  options.job.state_directory = options.cluster.state_directory;
  const auto given =
      read_settings(options.settings, options.local ? is_read_by_local_job : is_read_by_jobs);
  if (!given.ok()) return answer.report(given.status());
  const Configuration& configuration = given->configuration;
  if (const Status wrong = check_settings(options, *given); !wrong.ok())
    return answer.report(wrong);
  const auto build = build_options(options.job, configuration);
  if (!build.ok()) return answer.report(build.status());
  const auto job = prepare_job(options.job, *build, configuration);
  if (job.status().code() == StatusCode::kAborted) {  // The job was asked for its options.
    if (answer.json()) return report(answer.give({{"help", job.status().message()}}));
    fmt::print("{}\n", job.status().message());
    return kExitOk;
  }
  if (!job.ok()) return answer.report(job.status());
  return options.local ? run_local(options, configuration, *job)
                       : run_on_cluster(options, configuration, *job);
}

}  // namespace

void add_run_command(CLI::App& parser, const Invocation& invocation,
                     std::vector<Command>& commands) {
  auto options = std::make_shared<RunOptions>();
  options->job.arguments = invocation.job_arguments;
  CLI::App* const run_parser =
      parser.add_subcommand("run", "Run a job: MODULE [options] -- ARGS of the job");
  add_job_options(*run_parser, options->job);
  run_parser->add_flag("-d,--detached", options->detached, "Return once the job was submitted");
  run_parser->add_flag("--local", options->local, "Run the job in this process, without a cluster");
  run_parser
      ->add_flag("--allow-faults", options->allow_faults, "With --local: allow -D test.faults")
      ->group("");
  options->cluster.add_options(*run_parser);
  options->answer.add_flag(*run_parser,
                           "What became of the job, or its id with -d, as an object, for programs");
  add_settings(*run_parser, options->settings);
  run_parser->footer(
      "Examples:\n  freshet run jobs/wordcount.so -p 4 -- --input 'docs/*.txt' --output counts\n"
      "  freshet run --local jobs/wordcount.so -- --input README.md --output counts\n"
      "  freshet run latency.cc -- --input requests --output latencies\n"
      "  freshet run -d --json jobs/wordcount.so | jq -r .jid\n"
      "'freshet run MODULE -- --help' shows the options of a job.");
  commands.push_back({run_parser, [options] { return run(*options); }});
}

}  // namespace freshet::cli
