#include "runtime/app/task_manager_runner.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>

#include "runtime/app/host_id.h"
#include "runtime/app/metrics_endpoint.h"
#include "runtime/app/network_memory.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"

namespace freshet {

namespace {

constexpr int kExitTaskDoesNotEnd = 1;
constexpr Duration kCrashReportTime = 1500ms;  // Of each of two ways; and names take as long.
constexpr Duration kCheckInterval = 200ms;     // Shorter than a JobManager waits for explanations.
constexpr const char* kMainThread = "tm-main";

size_t cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&set)));
}

Result<size_t> worker_count(const Configuration& configuration) {
  ASSIGN_OR_RETURN(const int64_t workers, configuration.integer(config::kWorkerThreads));
  return workers == 0 ? cores() : static_cast<size_t>(workers);
}

Result<ShuffleEnvironment::Options> shuffle_options(const TaskManagerRunner::Options& options,
                                                    TaskManagerId id, FileSystem& files) {
  const Configuration& configuration = options.configuration;
  ShuffleEnvironment::Options shuffle;
  shuffle.task_manager = id;
  shuffle.bind = options.bind;
  shuffle.unix_bind = options.unix_bind;
  ASSIGN_OR_RETURN(const NetworkMemory memory, network_memory(configuration, files));
  shuffle.pool_bytes = memory.pool_bytes;
  shuffle.gate_budget_bytes = memory.gate_budget_bytes;
  shuffle.overdraft_bytes_max = memory.overdraft_bytes_max;
  shuffle.secret = configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(shuffle.store_codec,
                   parse_block_codec(configuration.text(config::kBlockingCodec)));
  ASSIGN_OR_RETURN(shuffle.store_read_bytes, configuration.bytes(config::kBlockingReadMemory));
  ASSIGN_OR_RETURN(shuffle.store_write_bytes, configuration.bytes(config::kBlockingWriteMemory));
  return shuffle;
}

Result<TaskExecutor::Options> executor_options(const TaskManagerRunner::Options& options,
                                               TaskManagerId id, FileSystem& files) {
  TaskExecutor::Options executor;
  executor.id = id;
  executor.name = options.name;
  executor.host_id = host_id(files);
  executor.slots = options.slots;
  executor.pid = static_cast<uint32_t>(getpid());
  executor.log_path = options.log_path;
  executor.job_manager = options.job_manager;
  executor.external_data_port = options.external_data_port;
  executor.secret = options.configuration.text(config::kSecret);
  executor.library_version = FRESHET_VERSION;
  executor.state_directory = options.state_directory;
  ASSIGN_OR_RETURN(executor.cancellation_timeout,
                   options.configuration.duration(config::kCancellationTimeout));
  ASSIGN_OR_RETURN(executor.watchdog_timeout,
                   options.configuration.duration(config::kWatchdogTimeout));
  ASSIGN_OR_RETURN(executor.channel_hash, options.configuration.boolean(config::kChannelHash));
  ASSIGN_OR_RETURN(executor.memory.bytes, options.configuration.bytes(config::kManagedMemory));
  ASSIGN_OR_RETURN(executor.memory.compresses,
                   options.configuration.boolean(config::kSpillCompression));
  ASSIGN_OR_RETURN(executor.descriptor_cache_bytes,
                   options.configuration.bytes(config::kDescriptorCache));
  return executor;
}

/// With the first data port that is free.
Result<std::unique_ptr<ShuffleEnvironment>> open_shuffle(ShuffleEnvironment::Options settings,
                                                         uint16_t port_last, Transport& transport) {
  while (true) {
    auto opened = ShuffleEnvironment::create(settings, transport);
    if (opened.ok() || opened.status().code() != StatusCode::kAlreadyExists ||
        settings.bind.port >= port_last)
      return opened;
    ++settings.bind.port;
  }
}

/// User code that does not end keeps its thread; only a new process is free of it.
void end_process(const Status& why) {
  LOG_ERROR("task_manager_ends", {{"cause", why}});
  std::_Exit(kExitTaskDoesNotEnd);
}

}  // namespace

TaskManagerRunner::TaskManagerRunner(size_t workers, Clock& clock)
    : random_(make_system_random()),
      clock_(clock),
      main_(kMainThread, clock),
      io_("tm-io", clock),
      spill_("tm-spill", clock),
      workers_(workers, clock) {}

Result<std::unique_ptr<TaskManagerRunner>> TaskManagerRunner::start(const Options& options,
                                                                    Transport& transport,
                                                                    Clock& clock, FileSystem& files,
                                                                    ModuleLoader& modules,
                                                                    Faults* faults) {
  const auto random = make_system_random();
  const TaskManagerId id{random->next()};
  ASSIGN_OR_RETURN(const size_t workers, worker_count(options.configuration));
  ASSIGN_OR_RETURN(auto shuffle_settings, shuffle_options(options, id, files));
  ASSIGN_OR_RETURN(auto executor_settings, executor_options(options, id, files));
  RETURN_IF_ERROR(files.create_directories(options.state_directory));
  std::unique_ptr<TaskManagerRunner> runner(new TaskManagerRunner(workers, clock));
  TaskManagerRunner& self = *runner;
  shuffle_settings.timers = &self.main_;
  shuffle_settings.faults = faults;
  ASSIGN_OR_RETURN(self.temp_, TempRoots::open(options.configuration.text(config::kTempDirectories),
                                               options.state_directory, files));
  SpillPlace place{&files, {}, &self.spill_, [&workers = self.workers_](const auto& function) {
                     workers.run_blocking(function);
                   }};
  place.faults = faults;
  shuffle_settings.spill = self.temp_.place("spill", place);
  shuffle_settings.store = self.temp_.place("partitions", place);
  executor_settings.memory.directories = std::make_shared<TempDirectories>(
      self.temp_.place("spill/operators", place));  // Emptied with the rest.
  ASSIGN_OR_RETURN(self.shuffle_,
                   open_shuffle(shuffle_settings, options.bind_port_last, transport));
  self.labels_ = {{"host", host_label(self.data_address())}, {"tm_id", to_string(id)}};
  executor_settings.labels = self.labels_;
  self.status_ = std::make_shared<TaskManagerMetrics>(
      self.labels_, files, clock, self.shuffle_.get(), executor_settings.memory.bytes);
  self.metrics_->add(self.status_);
  self.last_words_ = {id, executor_settings.job_manager, executor_settings.secret,
                      executor_settings.library_version};
  const auto on_fatal = options.on_fatal ? options.on_fatal : end_process;
  self.run_on_main([&] {
    self.executor_ = std::make_unique<TaskExecutor>(
        executor_settings, TaskExecutor::Environment{
                               transport, self.main_, self.workers_, self.io_, modules, files,
                               clock, *self.random_, *self.shuffle_, faults, nullptr, on_fatal,
                               self.metrics_.get(), [&self] { return self.status_->numbers(); }});
    self.executor_->start();
    if (options.check_process) self.check_again_and_again(options.check_process);
  });
  return runner;
}

TaskManagerRunner::~TaskManagerRunner() { stop(); }

void TaskManagerRunner::run_on_main(UniqueFunction<void()> function) {
  std::promise<void> done;
  main_.post("run_on_main", [&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

void TaskManagerRunner::check_again_and_again(const std::function<void()>& check) {
  check();
  main_.schedule(kCheckInterval, "check_process", [this, check] { check_again_and_again(check); });
}

bool TaskManagerRunner::report_crash(const CrashReport& crash) {
  if (crash.thread == kMainThread) return false;
  // Whoever crashed may hold what the main thread waits for.
  const auto told = std::make_shared<std::promise<void>>();
  main_.post("report_crash", [this, crash, told] {
    if (!executor_) return told->set_value();
    executor_->report_crash(crash, [told] { told->set_value(); });
  });
  return told->get_future().wait_for(kCrashReportTime) == std::future_status::ready;
}

void TaskManagerRunner::say_last_words(const CrashReport& crash, Transport& transport) {
  // Never destroyed: this is the end.
  auto* const thread = new ThreadExecutor("last-words", clock_);
  auto* const mailbox = new Mailbox(*thread);
  const auto told = std::make_shared<std::promise<void>>();
  thread->post("last_words", [this, crash, &transport, mailbox, told] {
    LastWords::say(last_words_, crash, transport, *mailbox, *random_,
                   [told] { told->set_value(); });
  });
  (void)told->get_future().wait_for(kCrashReportTime);
}

void TaskManagerRunner::stop() {
  if (stopped_) return;
  stopped_ = true;
  if (executor_) {
    std::promise<void> ended;
    run_on_main([&] { executor_->stop([&ended] { ended.set_value(); }); });
    ended.get_future().wait();
    run_on_main([&] { executor_.reset(); });
  }
  workers_.stop();
  io_.stop();
  spill_.stop();
  temp_.remove();
  if (status_) status_->release();
  if (shuffle_) shuffle_->shut_down();
  main_.stop();
}

}  // namespace freshet
