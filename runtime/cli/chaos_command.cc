#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/api/result_check_loader.h"
#include "runtime/app/local_state.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/log.h"
#include "runtime/base/process_environment.h"
#include "runtime/base/version.h"
#include "runtime/chaos/experiment.h"
#include "runtime/chaos/fault_plan.h"
#include "runtime/chaos/html_report.h"
#include "runtime/chaos/json_report.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/chaos_text.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"
#include "runtime/cli/job_preparation.h"
#include "runtime/cli/result_check_trial.h"
#include "runtime/graph/slot_sharing.h"

namespace freshet::cli {

namespace {

constexpr uint64_t kPlanBytesMax = 1u << 20;
constexpr const char* kDirectoryKind = "freshet-chaos";

struct ChaosOptions {
  std::string command;  // As it was typed.
  JobOptions job;
  std::string plan_file;
  std::string seed = "1";
  std::string kill;
  std::string every = "2 s";
  std::string span = "30 s";
  std::string task_managers = "3";
  std::string slots;  // Empty: what the job needs.
  std::string patience = "5 min";
  std::string report = "chaos-report.html";
  std::string strategy;
  std::string compare;
  bool list = false;
  bool show_plan = false;
  bool keep = false;
  SettingsOptions settings;
  Answer answer;
};

/// What makes recovery quick to see, and endless trying the rule, unless somebody says otherwise.
const std::vector<std::pair<const ConfigKey*, std::string>>& defaults() {
  static const std::vector<std::pair<const ConfigKey*, std::string>> all = {
      {&config::kHeartbeatInterval, "100 ms"},
      {&config::kHeartbeatTimeout, "3 s"},
      {&config::kRestartStrategy, "fixed-delay"},
      {&config::kFixedDelayAttempts, "1000000000"},
      {&config::kFixedDelayDelay, "0 ms"},
      {&config::kLogLevel, "debug"},
      {&config::kRestPort, "0"},
  };
  return all;
}

Result<Configuration> with_defaults(Configuration configuration) {
  for (const auto& [key, value] : defaults()) {
    if (!configuration.has(*key)) RETURN_IF_ERROR(configuration.set(std::string(key->name), value));
  }
  return configuration;
}

/// Those of one side.
Result<Configuration> part_of(const Configuration& configuration, SettingsFilter filter) {
  Configuration part;
  for (const ConfigKey* key : config_keys()) {
    if (configuration.has(*key) && filter(*key))
      RETURN_IF_ERROR(part.set(std::string(key->name), configuration.text(*key)));
  }
  return part;
}

Result<chaos::FaultPlan> read_plan(const ChaosOptions& options) {
  if (options.plan_file.empty() == options.kill.empty())
    return invalid_argument(
        "say what to break: --plan FILE, or --kill KIND with --every and --for; 'freshet chaos "
        "--list' shows what there is");
  if (!options.plan_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text,
                     make_local_file_system()->read_all(options.plan_file, kPlanBytesMax));
    return chaos::parse_fault_plan(options.plan_file, text);
  }
  const auto every = parse_duration(options.every);
  if (!every.ok()) return every.status().with_context("--every");
  const auto span = parse_duration(options.span);
  if (!span.ok()) return span.status().with_context("--for");
  return chaos::kill_plan(options.kill, *every, *span);
}

chaos::ClusterShape shape_of(const JobGraph& graph, uint32_t task_managers) {
  chaos::ClusterShape shape;
  shape.task_managers = task_managers;
  for (const JobVertex& vertex : graph.vertices)
    shape.vertices.push_back({std::to_string(vertex.id.value), vertex.name(), vertex.parallelism});
  return shape;
}

/// As many as the job needs when all are there: each of them has tasks then.
Result<uint32_t> slots_of(const ChaosOptions& options, const JobGraph& graph,
                          uint32_t task_managers) {
  if (!options.slots.empty()) return parse_number("--slots", options.slots, config::kTaskSlots);
  return (share_slots(graph).total + task_managers - 1) / task_managers;
}

Result<uint64_t> parse_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  return invalid_argument(fmt::format("--seed: '{}' is not a whole number", text));
}

Result<std::string> working_directory() {
  const std::string parent = environment_variable("TMPDIR").value_or("/tmp");
  const auto files = make_local_file_system();
  const auto info = files->info(parent);
  if (!info.ok() || !info->is_directory)
    return failed_precondition(fmt::format("TMPDIR is '{}', which is no directory", parent));
  return local_state_directory(parent, kDirectoryKind);
}

constexpr std::array<std::string_view, 2> kStrategies = {"region", "full"};

Result<std::vector<std::string>> strategies_of(const ChaosOptions& options) {
  const bool several = !options.compare.empty();
  const std::string option = several ? "--compare" : "--strategy";
  if (several && !options.strategy.empty())
    return invalid_argument("--strategy and --compare exclude each other");
  std::vector<std::string> result;
  std::stringstream names(several ? options.compare : options.strategy);
  for (std::string name; std::getline(names, name, ',');) {
    if (std::find(kStrategies.begin(), kStrategies.end(), name) == kStrategies.end())
      return invalid_argument(fmt::format("{}: no failover strategy is called '{}'; there are {}",
                                          option, name, fmt::join(kStrategies, ", ")));
    if (std::find(result.begin(), result.end(), name) != result.end())
      return invalid_argument(fmt::format("{}: '{}' is there twice", option, name));
    result.push_back(name);
  }
  if (several && result.size() < 2)
    return invalid_argument("--compare takes at least two, as in --compare region,full");
  if (result.empty()) result = {"region"};
  return result;
}

/// `2026-11-30 23:40:12`
std::string local_time(EpochMillis now) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<time_t>(now / 1000)));
}

/// Those of a run that are not what they would be without being told.
std::vector<std::string> settings_text(const Configuration& configuration) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : configuration.values()) {
    if (name != config::kSecret.name) lines.push_back(fmt::format("{}: {}", name, value));
  }
  return lines;
}

/// A runtime that is wrong on purpose is so in the broken runs only: otherwise nobody would see it.
std::vector<std::string> broken_settings_of(const Configuration& configuration) {
  if (!configuration.has(config::kTestRecords)) return {};
  return {
      "--allow-faults", "-D",
      fmt::format("{}={}", config::kTestRecords.name, configuration.text(config::kTestRecords))};
}

/// What plans do is not for settings.
Status refuse_faults(const Configuration& configuration) {
  for (const ConfigKey* key :
       {&config::kTestFaults, &config::kTestFaultsRecord, &config::kTestDisk}) {
    if (configuration.has(*key))
      return invalid_argument(
          fmt::format("{}: faults are for a plan here; see 'freshet chaos --list'", key->name));
  }
  return Status();
}

/// Everything that is checked before anything runs.
struct Prepared {
  chaos::Experiment::Options experiment;
  std::vector<chaos::PlannedFault> plan;
};

Result<Prepared> prepare(const ChaosOptions& options) {
  Prepared prepared;
  chaos::ChaosRecord& record = prepared.experiment.record;
  ASSIGN_OR_RETURN(const chaos::FaultPlan plan, read_plan(options));
  ASSIGN_OR_RETURN(record.seed, parse_seed(options.seed));
  ASSIGN_OR_RETURN(record.task_managers,
                   parse_number("--taskmanagers", options.task_managers, 1, kTaskManagersMax));
  ASSIGN_OR_RETURN(prepared.experiment.strategies, strategies_of(options));
  const auto patience = parse_duration(options.patience);
  if (!patience.ok()) return patience.status().with_context("--patience");
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_any_setting));
  RETURN_IF_ERROR(refuse_faults(given.configuration));
  ASSIGN_OR_RETURN(const Configuration configuration, with_defaults(given.configuration));
  ASSIGN_OR_RETURN(const Configuration of_job, part_of(given.configuration, is_read_by_jobs));
  ASSIGN_OR_RETURN(const BuildOptions build, build_options(options.job, of_job));
  auto& outputs = prepared.experiment.outputs;
  ASSIGN_OR_RETURN(
      PreparedJob job,
      prepare_job(options.job, build, of_job, [&](const LogicalGraph& graph) -> Status {
        ASSIGN_OR_RETURN(outputs, chaos::check_provable(graph));
        return Status();
      }));
  const JobGraph& graph = job.submission.graph;
  ASSIGN_OR_RETURN(prepared.plan,
                   chaos::expand(plan, shape_of(graph, record.task_managers), record.seed));
  ASSIGN_OR_RETURN(record.slots, slots_of(options, graph, record.task_managers));
  record.command = options.command;
  record.version = FRESHET_VERSION;
  record.settings = settings_text(configuration);
  record.plan = chaos::to_text(plan);
  record.job = job.submission.name;
  record.module = options.job.module;
  record.mode = options.job.mode;
  record.arguments = options.job.arguments;
  record.parallelism = build.parallelism;
  chaos::JobRun::Options& run = prepared.experiment.run;
  run.patience = *patience;
  run.plan = prepared.plan;
  if (has_result_check(job.module_bytes)) {
    prepared.experiment.checker = [path = job.module_path, arguments = options.job.arguments,
                                   outputs, patience = *patience] {
      return check_result(path, arguments, outputs, patience);
    };
  }
  run.submission = std::move(job.submission);
  run.module_bytes = std::move(job.module_bytes);
  ASSIGN_OR_RETURN(run.cluster.program, own_program_path());
  run.cluster.task_managers = record.task_managers;
  run.cluster.slots = record.slots;
  run.cluster.secret = configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(const Configuration of_processes,
                   part_of(configuration, [](const ConfigKey& key) {
                     return is_read_by_processes(key) && &key != &config::kTestRecords;
                   }));
  HandedSettings settings = hand_on(of_processes);
  prepared.experiment.broken_settings = broken_settings_of(configuration);
  run.cluster.settings = std::move(settings.arguments);
  run.cluster.environment = std::move(settings.environment);
  prepared.experiment.keep = options.keep;
  ASSIGN_OR_RETURN(prepared.experiment.directory, working_directory());
  return prepared;
}

int show_plan(const Prepared& prepared) {
  for (const chaos::PlannedFault& planned : prepared.plan)
    fmt::print("{:>4}  {}\n", planned.number, planned.to_string());
  return kExitOk;
}

/// `report.json` beside `report.html`.
std::string json_path_of(const std::string& report) {
  const size_t dot = report.rfind(".html");
  return (dot == report.npos ? report : report.substr(0, dot)) + ".json";
}

Status write_reports(const std::string& path, const chaos::ChaosRecord& record, FileSystem& files) {
  RETURN_IF_ERROR(files.write_atomically(path, chaos::html_report(record)));
  return files.write_atomically(json_path_of(path), chaos::json_report(record));
}

/// Nothing that ran for minutes should fail to be written in the end.
Status check_report(const std::string& path, FileSystem& files) {
  const size_t slash = path.rfind('/');
  const std::string directory =
      slash == path.npos ? "." : path.substr(0, std::max(slash, size_t{1}));
  const auto info = files.info(directory);
  if (info.ok() && info->is_directory) return Status();
  return invalid_argument(fmt::format("--report {}: there is no directory {}", path, directory));
}

int give(const ChaosOptions& options, const chaos::ChaosRecord& record, FileSystem& files) {
  const Status written = write_reports(options.report, record, files);
  if (options.answer.json()) {
    fmt::print("{}", chaos::json_report(record));
  } else {
    fmt::print("{}", text_of(record));
    if (written.ok())
      fmt::print("Report: {} and {}\n", options.report, json_path_of(options.report));
  }
  return written.ok() ? record.exit_code : std::max(report(written), record.exit_code);
}

int run_chaos(const ChaosOptions& options) {
  if (options.list) {
    fmt::print("{}", list_of_faults());
    return kExitOk;
  }
  if (options.job.module.empty())
    return options.answer.report(invalid_argument("MODULE is missing: the job to break"));
  auto prepared = prepare(options);
  if (prepared.status().code() == StatusCode::kAborted) {  // The job was asked for its options.
    fmt::print("{}\n", prepared.status().message());
    return kExitOk;
  }
  if (!prepared.ok()) return options.answer.report(prepared.status());
  if (options.show_plan) return show_plan(*prepared);
  SignalWaiter signals;
  const auto processes = make_system_process_host();
  const auto files = make_local_file_system();
  const auto clock = make_system_clock();
  if (const Status wrong = check_report(options.report, *files); !wrong.ok())
    return options.answer.report(wrong);
  prepared->experiment.record.started = local_time(clock->epoch_millis());
  log_to_sink([](void*, LogLevel, std::string_view) {}, nullptr);
  remove_stale_local_state(
      prepared->experiment.directory.substr(0, prepared->experiment.directory.rfind('/')),
      kDirectoryKind, *files);
  prepared->experiment.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const auto record =
      chaos::Experiment::run(std::move(prepared->experiment), *processes, *files, *clock, signals);
  if (!record.ok()) return options.answer.fail(record.status());
  return give(options, *record, *files);
}

}  // namespace

void add_chaos_command(CLI::App& parser, const Invocation& invocation,
                       std::vector<Command>& commands) {
  auto options = std::make_shared<ChaosOptions>();
  options->job.arguments = invocation.job_arguments;
  options->command = invocation.command_line;
  CLI::App* const chaos = parser.add_subcommand(
      "chaos", "Break a cluster while a job runs, and prove that its result is exact");
  add_job_options(*chaos, options->job);
  chaos->get_option("MODULE")->required(false);
  chaos->add_option("--plan", options->plan_file, "What to break when")->type_name("FILE");
  chaos
      ->add_option("--kill", options->kill,
                   "Instead: kill jobmanager, taskmanager, taskmanager-2, ..., or have a task fail "
                   "(task, task:VERTEX, task:VERTEX/SUBTASK)")
      ->type_name("KIND");
  chaos->add_option("--every", options->every, "With --kill: how often (default: 2 s)")
      ->type_name("TIME");
  chaos->add_option("--for", options->span, "With --kill: how long (default: 30 s)")
      ->type_name("TIME");
  chaos
      ->add_option("--seed", options->seed,
                   "Decides what the plan leaves open; the same gives the same (default: 1)")
      ->type_name("S");
  chaos->add_option("--taskmanagers", options->task_managers, "How many (default: 3)")
      ->type_name("K");
  chaos
      ->add_option("--slots", options->slots,
                   "Slots of each TaskManager (default: as many as the job needs, in all)")
      ->type_name("S");
  chaos
      ->add_option("--patience", options->patience,
                   "From the last fault to the end of the job (default: 5 min)")
      ->type_name("TIME");
  chaos
      ->add_option("--strategy", options->strategy,
                   "What a failure restarts: region (default) or full")
      ->type_name("S");
  chaos->add_option("--compare", options->compare, "Several strategies, one run with each")
      ->type_name("S1,S2");
  chaos
      ->add_option("--report", options->report,
                   "The report to write, and the same as .json (default: chaos-report.html)")
      ->type_name("FILE.html");
  chaos->add_flag("--list", options->list, "Show what can be broken, and at which points");
  chaos->add_flag("--show-plan", options->show_plan, "Show what the seed makes of the plan");
  chaos->add_flag("--keep", options->keep, "Keep the logs of the processes");
  options->answer.add_flag(*chaos);
  add_settings(*chaos, options->settings);
  chaos->footer(
      "Examples:\n  freshet chaos --kill taskmanager --every 2s --for 30s jobs/wordcount.so --mode "
      "batch -- --input words.txt --output counts\n"
      "  freshet chaos --plan plan.yaml --seed 7 jobs/wordcount.so -- --input words.txt --output "
      "counts\n"
      "  freshet chaos --list\n"
      "Exit codes: 0 exactly once, and each fault fired and was recovered; 1 the result is wrong, "
      "or the job did not come back; 2 a fault did not fire, or wrong usage.");
  commands.push_back({chaos, [options] { return run_chaos(*options); }});
}

}  // namespace freshet::cli
