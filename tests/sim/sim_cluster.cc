#include "tests/sim/sim_cluster.h"

#include <fmt/format.h>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/version.h"
#include "runtime/graph/logical_graph.h"
#include "runtime/task/executor_task_runner.h"
#include "shuffle/shuffle_environment.h"
#include "taskmanager/task_executor.h"
#include "tests/sim/sim_replay.h"

namespace freshet::sim {

namespace {

constexpr uint64_t kPoolBytes = 16u << 20;
constexpr Duration kSuperviseInterval = 50ms;
constexpr Duration kReleaseTime = 10s;

Configuration cluster_configuration() {
  Configuration configuration;
  CHECK(configuration.set(std::string(config::kChannelHash.name), "true").ok());
  return configuration;
}

}  // namespace

struct SimCluster::JobManagerProgram {
  JobManagerProgram(SimProcess& process, const Address& address)
      : job_manager({address, "/state/jobmanager", cluster_configuration()}, process.transport(),
                    process.add_executor(), process.add_executor(), process.clock(),
                    process.random(), process.file_system(), process.faults()) {}

  JobManager job_manager;
};

struct SimCluster::TaskManagerProgram {
  explicit TaskManagerProgram(SimProcess& of_process)
      : process(of_process),
        main(process.add_executor()),
        io(process.add_executor()),
        runner(process.add_executor()) {}

  /// On `main`, as the TaskExecutor wants it.
  Status start(const TaskExecutor::Options& options, ModuleLoader& modules,
               TaskRecorder& recorder) {
    ShuffleEnvironment::Options settings;
    settings.task_manager = options.id;
    settings.bind = Address{"127.0.0.1", 0};
    settings.pool_bytes = kPoolBytes;
    settings.gate_budget_bytes = 64u << 10;
    settings.timers = &main;
    ASSIGN_OR_RETURN(shuffle, ShuffleEnvironment::create(settings, process.transport()));
    executor = std::make_unique<TaskExecutor>(
        options, TaskExecutor::Environment{process.transport(), main, runner, io, modules,
                                           process.file_system(), process.clock(), process.random(),
                                           *shuffle, &process.faults(), &recorder,
                                           [this](const Status&) { process.crash(); }});
    executor->start();
    return Status();
  }

  SimProcess& process;
  SimExecutor& main;
  SimExecutor& io;
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
                                    std::shared_ptr<InputGate> gate) override {
    return memory_.record(attempt, index, std::move(gate));
  }
  std::shared_ptr<ResultPartition> record(const AttemptId& attempt, uint32_t index,
                                          std::shared_ptr<ResultPartition> partition) override {
    return memory_.record(attempt, index, std::move(partition));
  }

  const MemoryTaskRecorder& memory() const { return memory_; }

 private:
  const Options& options_;
  MemoryTaskRecorder memory_;
  std::vector<std::unique_ptr<DecisionLog>> wrapped_;
};

SimCluster::SimCluster(const Options& options)
    : options_(options),
      world_(options.seed),
      machine_(world_.add_host("machine")),
      chaos_(world_.queue().random().fork()) {
  world_.log().expect_error("job_failed");  // Whether a job may fail is for the test to say.
  start_job_manager();
  for (uint32_t i = 0; i < options_.task_managers; ++i) start_task_manager(i);
  supervise();
}

SimCluster::~SimCluster() = default;

void SimCluster::start_job_manager() {
  job_manager_process_ = &world_.start_process(machine_, "jobmanager");
  job_manager_ = std::make_shared<JobManagerProgram>(*job_manager_process_, job_manager_address_);
  job_manager_process_->run(job_manager_);
  job_manager_->job_manager.observe([this](const JobMaster& job) { observe(job); });
  const Result<Address> address = job_manager_->job_manager.start();
  if (!address.ok()) problems_.push_back("the JobManager: " + address.status().to_string());
}

void SimCluster::start_task_manager(uint32_t index) {
  const std::string name = fmt::format("taskmanager-{}", index + 1);
  SimProcess& process = world_.start_process(machine_, name);
  task_manager_processes_[index] = &process;
  TaskExecutor::Options options;
  options.id = TaskManagerId{process.random().next()};
  options.name = name;
  options.host_id = machine_.name;
  options.slots = options_.slots;
  options.job_manager = job_manager_address_;
  options.library_version = FRESHET_VERSION;
  options.state_directory = "/state/" + name;
  options.channel_hash = true;
  auto program = std::make_shared<TaskManagerProgram>(process);
  task_manager_programs_[index] = program;
  TaskManagerProgram& self = *program;
  process.run(std::move(program));
  recorders_.push_back(std::make_unique<Recorder>(process, options_));
  TaskRecorder& recorder = *recorders_.back();
  self.main.post("start", [this, &self, &recorder, options] {
    const Status status = self.start(options, modules_, recorder);
    if (!status.ok()) problems_.push_back(options.name + ": " + status.to_string());
  });
}

void SimCluster::supervise() {
  world_.queue().add(world_.queue().now() + kSuperviseInterval, 0, "supervise", [this] {
    for (auto& [index, process] : task_manager_processes_) {
      if (process == nullptr || process->alive()) continue;
      process = nullptr;
      world_.queue().add(world_.queue().now() + options_.restart_delay, 0, "restart",
                         [this, index = index] { start_task_manager(index); });
    }
    if (job_manager_process_ != nullptr && !job_manager_process_->alive()) {
      job_manager_process_ = nullptr;
      world_.queue().add(world_.queue().now() + options_.restart_delay, 0, "restart",
                         [this] { start_job_manager(); });
    }
    supervise();
  });
}

void SimCluster::submit(const SimJob& job) {
  CHECK(client_ == nullptr);
  for (const auto& [path, content] : job.inputs) machine_.files.put(path, content);
  auto module = std::make_shared<InProcessModule>(job.name, job.builder);
  const std::string bytes = "module " + job.name;
  modules_.add(content_hash(bytes) + ".so", module);
  Result<std::shared_ptr<const BuiltJob>> built = module->build(job.build);
  if (!built.ok()) {
    problems_.push_back("the builder: " + built.status().to_string());
    return;
  }
  built_ = *built;
  JobGraphOptions graph_options;
  graph_options.parallelism = job.build.parallelism;
  graph_options.mode = job.build.mode;
  const Result<JobGraph> graph = build_job_graph(built_->graph(), graph_options);
  if (!graph.ok()) {
    problems_.push_back("the graph: " + graph.status().to_string());
    return;
  }
  graph_ = *graph;
  client_process_ = &world_.start_process(machine_, "client");
  client_ = std::make_unique<SimClient>(
      *client_process_, job_manager_address_,
      SimSubmission{job.name, bytes, job.build, fingerprint_of(built_->graph()), graph_});
  client_->start();
}

bool SimCluster::run_until_ended(Duration limit) {
  return world_.queue().run_until(
      [this] {
        const JobState state = job_state();
        return state == JobState::kFinished || state == JobState::kFailed ||
               state == JobState::kCanceled || (client_ != nullptr && !client_->refused().ok());
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

const JobMaster* SimCluster::job_master() const {
  if (client_ == nullptr || !client_->job().has_value() || job_manager_process_ == nullptr) {
    return nullptr;
  }
  const JobRecord* record = job_manager_->job_manager.jobs().find(*client_->job());
  return record == nullptr ? nullptr : record->master.get();
}

JobState SimCluster::job_state() const {
  const JobMaster* job = job_master();
  return job == nullptr ? JobState::kCreated : job->state();
}

Status SimCluster::job_cause() const {
  if (client_ != nullptr && !client_->refused().ok()) return client_->refused();
  const JobMaster* job = job_master();
  return job == nullptr ? Status() : job->cause();
}

uint32_t SimCluster::restarts() const {
  const JobMaster* job = job_master();
  return job == nullptr ? 0 : job->restarts();
}

void SimCluster::observe(const JobMaster& job) {
  if (const auto broken = invariants_[job.id()].check(job)) problems_.push_back(*broken);
}

std::vector<SimProcess*> SimCluster::task_managers() const {
  std::vector<SimProcess*> live;
  for (const auto& [index, process] : task_manager_processes_) {
    if (process != nullptr && process->alive()) live.push_back(process);
  }
  return live;
}

size_t SimCluster::hosted_tasks() const {
  size_t count = 0;
  for (const auto& [index, weak] : task_manager_programs_) {
    const auto program = weak.lock();
    if (program == nullptr || !program->process.alive() || program->executor == nullptr) continue;
    count += program->executor->hosted_tasks();
  }
  return count;
}

uint32_t SimCluster::submissions() const { return client_ == nullptr ? 0 : client_->submissions(); }

void SimCluster::reset_client() {
  world_.network().reset(client_process_->id(), job_manager_process_->id());
}

void SimCluster::break_things(uint32_t count, Duration span) {
  for (uint32_t i = 0; i < count; ++i) {
    const Duration after(chaos_->below(static_cast<uint64_t>(span.count())));
    world_.queue().add(world_.queue().now() + after, 0, "fault", [this] { break_one_thing(); });
  }
}

void SimCluster::break_one_thing() {
  const std::vector<SimProcess*> live = task_managers();
  if (live.empty()) {  // Nothing to break; the next one that is restarted.
    world_.queue().add(world_.queue().now() + kSuperviseInterval, 0, "fault",
                       [this] { break_one_thing(); });
    return;
  }
  ++faults_injected_;
  SimProcess& victim = *live[chaos_->below(live.size())];
  SimProcess* other = live[chaos_->below(live.size())];
  if (other == &victim) other = job_manager_process_;
  const uint64_t kind = chaos_->below(5);
  if (kind == 0 || other == nullptr) return victim.crash();
  SimNetwork& network = world_.network();
  switch (kind) {
    case 1:
      victim.pause(Duration(chaos_->below(3'000'000'000)));
      return;
    case 2:
      network.reset(victim.id(), other->id());
      return;
    case 3:
      network.clog(victim.id(), other->id(), Duration(chaos_->below(3'000'000'000)));
      return;
    default:
      network.split(victim.id(), other->id());
      world_.queue().add(world_.queue().now() + 5s, 0, "heal",
                         [&network, a = victim.id(), b = other->id()] { network.heal(a, b); });
  }
}

Result<size_t> SimCluster::replay_tasks() {
  // Outputs are recorded when they are released, after the tasks were told that the job ended.
  world_.queue().run_until(world_.queue().now() + kReleaseTime);
  std::vector<const TaskRecording*> all;
  for (const std::unique_ptr<Recorder>& recorder : recorders_) {
    for (const auto& [attempt, recording] : recorder->memory().recordings())
      all.push_back(recording.get());
  }
  return repeat_all(all, graph_, built_, machine_.files);
}

std::vector<std::string> SimCluster::problems() const {
  std::vector<std::string> all = problems_;
  for (const std::string& line : world_.log().unexpected_errors()) {
    all.push_back(line);
  }
  return all;
}

}  // namespace freshet::sim
