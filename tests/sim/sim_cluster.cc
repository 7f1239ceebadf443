#include "tests/sim/sim_cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/version.h"
#include "runtime/graph/logical_graph.h"
#include "runtime/task/executor_task_runner.h"
#include "shuffle/shuffle_environment.h"
#include "taskmanager/task_executor.h"

namespace freshet::sim {

namespace {

constexpr uint64_t kPoolBytes = 16u << 20;
constexpr uint16_t kDataPort = 7000;
constexpr Duration kSuperviseInterval = 50ms;
constexpr Duration kReleaseTime = 10s;
constexpr Duration kForEver = 24h;

Configuration cluster_configuration(const std::map<std::string, std::string>& settings) {
  Configuration configuration;
  for (const auto& [name, value] : settings) CHECK(configuration.set(name, value).ok());
  CHECK(configuration.set(std::string(config::kChannelHash.name), "true").ok());
  CHECK(configuration.set(std::string(config::kSecret.name), kClusterSecret).ok());
  return configuration;
}

}  // namespace

struct SimCluster::JobManagerProgram {
  JobManagerProgram(SimProcess& process, const Address& address, const Configuration& configuration)
      : job_manager({address, "/state/jobmanager", configuration}, process.transport(),
                    process.add_executor(), process.add_executor(), process.clock(),
                    process.random(), process.file_system(), process.faults()) {}

  JobManager job_manager;
};

struct SimCluster::TaskManagerProgram {
  explicit TaskManagerProgram(SimProcess& of_process)
      : process(of_process),
        main(process.add_executor()),
        io(process.add_executor()),
        spill(process.add_executor()),
        tasks(process.add_executor()),
        runner(tasks) {}

  /// On `main`, as the TaskExecutor wants it.
  Status start(TaskExecutor::Options options, uint16_t data_port, const WideLimits& wide,
               ModuleLoader& modules, TaskRecorder* recorder) {
    ShuffleEnvironment::Options settings;
    settings.task_manager = options.id;
    settings.bind = Address{"127.0.0.1", data_port};
    Faults* const faults = recorder == nullptr ? nullptr : &process.faults();
    settings.faults = faults;
    settings.pool_bytes = kPoolBytes;
    settings.gate_budget_bytes = 64u << 10;
    settings.overdraft_bytes_max = 16u << 10;
    settings.spill =
        SpillPlace{&process.file_system(), options.state_directory + "/spill", &spill, {}};
    settings.spill->faults = faults;
    SpillPlace operators = *settings.spill;
    operators.directory += "/operators";
    options.memory.directories = std::make_shared<TempDirectories>(operators);
    settings.store = settings.spill;
    settings.store->directory = options.state_directory + "/partitions";
    settings.store_read_bytes = 256u << 10;
    settings.timers = &main;
    settings.secret = kClusterSecret;
    settings.random = process.random().fork();
    settings.wide = wide;
    ASSIGN_OR_RETURN(shuffle, ShuffleEnvironment::create(settings, process.transport()));
    executor = std::make_unique<TaskExecutor>(
        options, TaskExecutor::Environment{process.transport(), main, runner, io, modules,
                                           process.file_system(), process.clock(), process.random(),
                                           *shuffle, faults, recorder,
                                           [this](const Status&) { process.crash(); }});
    executor->start();
    return Status();
  }

  SimProcess& process;
  SimExecutor& main;
  SimExecutor& io;
  SimExecutor& spill;
  SimExecutor& tasks;
  ExecutorTaskRunner runner;
  std::unique_ptr<ShuffleEnvironment> shuffle;
  std::unique_ptr<TaskExecutor> executor;
};

/// Records in memory what the tasks of one process do while it lives.
class SimCluster::Recorder final : public TaskRecorder {
 public:
  Recorder(const SimProcess& process, const Options& options)
      : options_(options), memory_([&process] { return process.alive(); }) {}

  DecisionLog* decision_log(const AttemptId& attempt,
                            const std::map<std::string, std::string>& settings) override {
    DecisionLog* const log = memory_.decision_log(attempt, settings);
    if (!options_.wrap_log) return log;
    wrapped_.push_back(options_.wrap_log(*log));
    return wrapped_.back().get();
  }
  std::shared_ptr<InputGate> record(const AttemptId& attempt, uint32_t index,
                                    const std::vector<InputGate::ProducerRange>& producers,
                                    std::shared_ptr<InputGate> gate) override {
    return memory_.record(attempt, index, producers, std::move(gate));
  }
  std::shared_ptr<ResultPartition> record(const AttemptId& attempt, uint32_t index,
                                          std::shared_ptr<ResultPartition> partition) override {
    return memory_.record(attempt, index, std::move(partition));
  }
  FileSystem& record(const AttemptId& attempt, FileSystem& files) override {
    return memory_.record(attempt, files);
  }

  const MemoryTaskRecorder& memory() const { return memory_; }

 private:
  const Options& options_;
  MemoryTaskRecorder memory_;
  std::vector<std::unique_ptr<DecisionLog>> wrapped_;
};

SimCluster::SimCluster(const Options& options)
    : options_(options),
      world_(options.seed,
             options.one_machine ? SimVolume::Names::kLate : SimVolume::Names::kDurable),
      job_manager_host_(world_.add_host("host-jobmanager")),
      client_host_(world_.add_host("host-client")) {
  world_.log().expect_error("job_failed");  // Whether a job may fail is for the test to say.
  CHECK(files().create_directories(std::string(kSharedDirectory)).ok());
  start_job_manager();
  places_.resize(options_.task_managers);
  for (uint32_t i = 0; i < options_.task_managers; ++i) {
    places_[i].host = options_.one_machine ? &job_manager_host_ : &add_task_manager_host(i);
    start_task_manager(i);
  }
  supervise();
}

SimCluster::~SimCluster() = default;

SimHost& SimCluster::add_task_manager_host(uint32_t index) {
  return world_.add_host(fmt::format("host-{}.{}", index + 1, places_[index].hosts_lost));
}

void SimCluster::start_job_manager() {
  job_manager_process_ = &world_.start_process(job_manager_host_, "jobmanager");
  job_manager_ = std::make_shared<JobManagerProgram>(*job_manager_process_, job_manager_address_,
                                                     cluster_configuration(options_.configuration));
  job_manager_process_->run(job_manager_);
  if (on_start_) on_start_(*job_manager_process_);
  job_manager_->job_manager.observe([this](const JobMaster& job) { observe(job); });
  const Result<Address> address = job_manager_->job_manager.start();
  if (!address.ok()) problems_.push_back("the JobManager: " + address.status().to_string());
}

void SimCluster::start_task_manager(uint32_t index) {
  const std::string name = fmt::format("taskmanager-{}", index + 1);
  Place& place = places_[index];
  SimProcess& process = world_.start_process(*place.host, name);
  place.process = &process;
  TaskExecutor::Options options;
  options.id = TaskManagerId{process.random().next()};
  options.name = name;
  options.host_id = place.host->id();
  options.slots = options_.slots;
  options.job_manager = job_manager_address_;
  options.library_version = FRESHET_VERSION;
  options.secret = kClusterSecret;
  options.state_directory = "/state/" + name;
  options.channel_hash = true;
  auto program = std::make_shared<TaskManagerProgram>(process);
  place.program = program;
  TaskManagerProgram& self = *program;
  process.run(std::move(program));
  if (options_.step_time > Duration(0)) self.tasks.slow_down(options_.step_time, kForEver);
  if (on_start_) on_start_(process);
  recorders_.push_back(std::make_unique<Recorder>(process, options_));
  TaskRecorder& recorder = *recorders_.back();
  const auto data_port = static_cast<uint16_t>(options_.same_ports ? kDataPort + index : 0);
  WideLimits wide;
  if (options_.wide) wide = {.windows_max = 0, .windows_if_room = false, .readers_at_once = 1};
  self.main.post("start", [this, &self, &recorder, options, data_port, wide] {
    const Status status =
        self.start(options, data_port, wide, modules_, options_.recorded ? &recorder : nullptr);
    if (!status.ok()) problems_.push_back(options.name + ": " + status.to_string());
  });
}

void SimCluster::supervise() {
  world_.queue().add(world_.queue().now() + kSuperviseInterval, 0, "supervise", [this] {
    for (uint32_t index = 0; index < places_.size(); ++index) {
      SimProcess*& process = places_[index].process;
      if (process == nullptr || process->alive()) continue;
      process = nullptr;
      world_.queue().add(world_.queue().now() + options_.restart_delay, 0, "restart",
                         [this, index] { start_task_manager(index); });
    }
    if (job_manager_process_ != nullptr && !job_manager_process_->alive()) {
      job_manager_process_ = nullptr;
      world_.queue().add(world_.queue().now() + options_.restart_delay, 0, "restart",
                         [this] { start_job_manager(); });
    }
    supervise();
  });
}

size_t SimCluster::submit(const SimJob& job) {
  for (const auto& [path, content] : job.inputs) files().put(path, content);
  auto module = std::make_shared<InProcessModule>(job.name, job.builder);
  const std::string bytes = "module " + job.name;
  modules_.add(content_hash(bytes) + ".so", module);
  Submitted& submitted = *jobs_.emplace_back(std::make_unique<Submitted>());
  submitted.name = job.name;
  const size_t number = jobs_.size() - 1;
  Result<std::shared_ptr<const BuiltJob>> built = module->build(job.build);
  if (!built.ok()) {
    problems_.push_back("the builder: " + built.status().to_string());
    return number;
  }
  submitted.built = *built;
  JobGraphOptions graph_options;
  graph_options.parallelism = job.build.parallelism;
  graph_options.mode = job.build.mode;
  const Result<JobGraph> graph = build_job_graph(submitted.built->graph(), graph_options);
  if (!graph.ok()) {
    problems_.push_back("the graph: " + graph.status().to_string());
    return number;
  }
  submitted.graph = *graph;
  submitted.client_process = &world_.start_process(client_host_, "client");
  submitted.client = std::make_unique<SimClient>(
      *submitted.client_process, job_manager_address_,
      SimSubmission{job.name, bytes, job.build, fingerprint_of(submitted.built->graph()),
                    submitted.graph});
  submitted.client->start();
  return number;
}

bool SimCluster::has_ended(size_t job) const {
  const SimClient* const client = jobs_.at(job)->client.get();
  return is_terminal(job_state(job)) || (client != nullptr && !client->refused().ok());
}

bool SimCluster::run_until_ended(Duration limit) {
  return world_.queue().run_until(
      [this] {
        for (size_t job = 0; job < jobs_.size(); ++job) {
          if (!has_ended(job)) return false;
        }
        return true;
      },
      limit);
}

bool SimCluster::run_until_ready(Duration limit) {
  return world_.queue().run_until(
      [this] {
        return job_manager_process_ != nullptr &&
               world_.log().count("task_manager_registered") >= options_.task_managers;
      },
      limit);
}

const JobMaster* SimCluster::job_master(size_t job) const {
  const SimClient* const client = jobs_.at(job)->client.get();
  const bool lives = job_manager_process_ != nullptr && job_manager_process_->alive();
  if (client == nullptr || !client->job().has_value() || !lives) return nullptr;
  const JobRecord* record = job_manager_->job_manager.jobs().find(*client->job());
  return record == nullptr ? nullptr : record->master.get();
}

JobState SimCluster::job_state(size_t job) const {
  const JobMaster* master = job_master(job);
  return master == nullptr ? JobState::kCreated : master->state();
}

Status SimCluster::job_cause(size_t job) const {
  const SimClient* const client = jobs_.at(job)->client.get();
  if (client != nullptr && !client->refused().ok()) return client->refused();
  const JobMaster* master = job_master(job);
  return master == nullptr ? Status() : master->cause();
}

uint32_t SimCluster::restarts(size_t job) const {
  const JobMaster* master = job_master(job);
  return master == nullptr ? 0 : master->restarts();
}

std::string SimCluster::describe_unended(size_t job) const {
  const JobMaster* master = job_master(job);
  if (master == nullptr || is_terminal(master->state())) return "";
  std::string text =
      fmt::format("job is {}, waits for '{}', has {} slots\n", to_string(master->state()),
                  master->waiting_for(), master->slots().size());
  const ExecutionGraph& graph = master->graph();
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    const Execution& execution = graph.at(i);
    const uint32_t region = graph.regions().region_of(i);
    text += fmt::format("  {}#{} {}{}, region {} with {} open inputs\n",
                        to_string(graph.subtask_at(i)), execution.attempt,
                        to_string(execution.state), execution.output_lost ? ", output lost" : "",
                        region, graph.open_inputs(region));
  }
  return text;
}

void SimCluster::observe(const JobMaster& job) {
  names_[job.id()] = job.submission().name;
  if (const auto broken = invariants_[job.id()].check(job)) problems_.push_back(*broken);
}

std::vector<SimProcess*> SimCluster::task_managers() const {
  std::vector<SimProcess*> live;
  for (const Place& place : places_) {
    if (place.process != nullptr && place.process->alive()) live.push_back(place.process);
  }
  return live;
}

size_t SimCluster::hosted_tasks() const {
  size_t count = 0;
  for (const Place& place : places_) {
    const auto program = place.program.lock();
    if (program == nullptr || !program->process.alive() || program->executor == nullptr) continue;
    count += program->executor->hosted_tasks();
  }
  return count;
}

uint64_t SimCluster::segment_bytes_in_use() const {
  uint64_t bytes = 0;
  for (const Place& place : places_) {
    const auto program = place.program.lock();
    if (program == nullptr || !program->process.alive() || program->shuffle == nullptr) continue;
    bytes += program->shuffle->total_bytes() - program->shuffle->free_bytes();
  }
  return bytes;
}

uint32_t SimCluster::submissions(size_t job) const {
  const SimClient* const client = jobs_.at(job)->client.get();
  return client == nullptr ? 0 : client->submissions();
}

void SimCluster::reset_client(size_t job) {
  world_.network().reset(jobs_.at(job)->client_process->id(), job_manager_process_->id());
}

SimCluster::Place& SimCluster::place_of(const SimProcess& task_manager) {
  const auto place = std::find_if(places_.begin(), places_.end(),
                                  [&](const Place& one) { return one.process == &task_manager; });
  CHECK(place != places_.end());
  return *place;
}

void SimCluster::crash_host(SimProcess& task_manager, Disk disk) {
  Place& place = place_of(task_manager);
  world_.crash_host(*place.host);
  if (disk == Disk::kComesBack) return;
  ++place.hosts_lost;
  place.host = &add_task_manager_host(static_cast<uint32_t>(&place - places_.data()));
}

void SimCluster::crash_machine() {
  CHECK(options_.one_machine && job_manager_process_ != nullptr);
  const SimProcessId job_manager = job_manager_process_->id();
  world_.crash_host(job_manager_host_);
  // Whoever sends it something now is told that the connection is not known there.
  for (const auto& job : jobs_) world_.network().heal(job->client_process->id(), job_manager);
}

void SimCluster::stall_files(SimProcess& task_manager, Duration duration) {
  const auto program = place_of(task_manager).program.lock();
  if (program == nullptr) return;
  program->io.stall(duration);
  program->spill.stall(duration);
  program->tasks.stall(duration);
}

void SimCluster::stall_spilling(SimProcess& task_manager, Duration duration) {
  const auto program = place_of(task_manager).program.lock();
  if (program != nullptr) program->spill.stall(duration);
}

void SimCluster::slow_spilling(SimProcess& task_manager, Duration each, Duration duration) {
  const auto program = place_of(task_manager).program.lock();
  if (program != nullptr) program->spill.slow_down(each, duration);
}

SimProcess* SimCluster::process_named(const std::string& name) const {
  if (job_manager_process_ != nullptr && job_manager_process_->name() == name)
    return job_manager_process_->alive() ? job_manager_process_ : nullptr;
  for (SimProcess* process : task_managers()) {
    if (process->name() == name) return process;
  }
  return nullptr;
}

std::vector<SimCluster::RunningTask> SimCluster::running_tasks(size_t job) const {
  std::vector<RunningTask> tasks;
  const JobMaster* const master = job_master(job);
  if (master == nullptr) return tasks;
  std::map<TaskManagerId, std::string> names;
  for (const TaskManagerInfo& info : job_manager_->job_manager.jobs().resources().task_managers())
    names[info.id] = info.name;
  for (uint32_t i = 0; i < master->graph().task_count(); ++i) {
    const Execution& execution = master->graph().at(i);
    if (execution.state != TaskState::kRunning) continue;
    const auto name = names.find(execution.task_manager);
    if (name != names.end()) tasks.push_back({master->graph().subtask_at(i), name->second});
  }
  return tasks;
}

Result<ReplayCounts> SimCluster::replay_tasks(size_t job) {
  // Outputs are recorded when they are released, after the tasks were told that the job ended.
  world_.queue().run_until(world_.queue().now() + kReleaseTime);
  const Submitted& submitted = *jobs_.at(job);
  std::vector<const TaskRecording*> all;
  for (const std::unique_ptr<Recorder>& recorder : recorders_) {
    for (const auto& [attempt, recording] : recorder->memory().recordings()) {
      if (names_.at(attempt.job) == submitted.name) all.push_back(recording.get());
    }
  }
  return repeat_all(all, submitted.graph, submitted.built, files());
}

std::vector<std::string> SimCluster::problems() const {
  std::vector<std::string> all = problems_;
  for (const std::string& line : world_.log().unexpected_errors()) {
    all.push_back(line);
  }
  return all;
}

}  // namespace freshet::sim
