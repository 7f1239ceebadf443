// What it costs to step many tasks on few threads: the product's pool, other pools, and a thread
// per task with a condition variable each.

#include "runtime/task/worker_pool.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <latch>

#include "tests/bench/median.h"
#include "tests/bench/other_pools.h"

namespace freshet::bench {
namespace {

struct Options {
  uint32_t tasks = 1000;
  uint32_t workers = 2;
  std::vector<uint32_t> work_ns = {0, 1000, 10'000};
  uint64_t steps = 400'000;
  uint32_t repeat = 5;
};

enum Side { kPool, kPlain, kStealing, kThreads, kSides };
constexpr std::array<const char*, kSides> kNames = {"", "plain_", "stealing_", "baseline_"};

/// Who steps each task of a run.
class Runners {
 public:
  Runners(Side side, const Options& options, const Clock& clock) {
    if (side == kPool) shared_ = std::make_unique<WorkerPool>(options.workers, clock);
    if (side == kPlain) shared_ = std::make_unique<PlainPool>(options.workers, clock);
    if (side == kStealing) shared_ = std::make_unique<StealingPool>(options.workers, clock);
    for (uint32_t i = 0; i < options.tasks && side == kThreads; i++) {
      threads_.push_back(std::make_unique<ThreadExecutor>("task", clock));
      own_.push_back(std::make_unique<ExecutorTaskRunner>(*threads_.back()));
    }
  }
  ~Runners() {
    threads_.clear();
    own_.clear();
  }
  TaskRunner& of(uint32_t task) { return shared_ ? *shared_ : *own_[task]; }

 private:
  std::unique_ptr<TaskRunner> shared_;
  std::vector<std::unique_ptr<ExecutorTaskRunner>> own_;
  std::vector<std::unique_ptr<ThreadExecutor>> threads_;
};

/// Something that takes about as long as was asked for, on a machine that nobody else uses.
class Work {
 public:
  explicit Work(const Clock& clock) {
    constexpr uint64_t kRounds = 20'000'000;
    const TimePoint begin = clock.now();
    spin(kRounds);
    rounds_per_ns_ =
        static_cast<double>(kRounds) / static_cast<double>((clock.now() - begin).count());
  }
  uint64_t rounds(uint32_t nanos) const {
    return static_cast<uint64_t>(rounds_per_ns_ * static_cast<double>(nanos));
  }
  static void spin(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) asm volatile("" ::"r"(i) : "memory");
  }

 private:
  double rounds_per_ns_ = 1;
};

/// Always has more to do.
class BusyTask final : public RunnableTask {
 public:
  BusyTask(uint64_t steps, uint64_t rounds, std::latch& ended)
      : steps_(steps), rounds_(rounds), ended_(ended) {}
  StepResult step() override {
    Work::spin(rounds_);
    if (--steps_ > 0) return StepResult::kWorked;
    ended_.count_down();
    return StepResult::kFinished;
  }
  bool blocking() const override { return false; }

 private:
  uint64_t steps_;
  const uint64_t rounds_;
  std::latch& ended_;
};

/// Waits for its turn, gives it to its partner and wakes that.
class PingTask final : public RunnableTask {
 public:
  PingTask(uint64_t steps, std::latch& ended) : steps_(steps), ended_(ended) {}
  void join(const std::shared_ptr<PingTask>& partner, TaskRunner& runner) {
    partner_ = partner;
    runner_ = &runner;
  }
  void give_turn() { turn_ = true; }

  StepResult step() override {
    if (!turn_.exchange(false)) return StepResult::kIdle;
    const bool last = --steps_ == 0;
    if (const auto partner = partner_.lock()) {
      partner->give_turn();
      runner_->wake(partner);
    }
    if (!last) return StepResult::kIdle;
    ended_.count_down();
    return StepResult::kFinished;
  }
  bool blocking() const override { return false; }

 private:
  uint64_t steps_;
  std::latch& ended_;
  std::weak_ptr<PingTask> partner_;
  TaskRunner* runner_ = nullptr;
  std::atomic<bool> turn_{false};
};

struct Measurement {
  double steps_per_s = 0;
  double cpu_ns_per_step = 0;
};

double cpu_ns() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto nanos = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return nanos(used.ru_utime) + nanos(used.ru_stime);
}

/// From the moment when the tasks are given to their runners until the last has ended.
Measurement measure_run(const std::vector<std::shared_ptr<RunnableTask>>& tasks, Runners& runners,
                        uint64_t steps, std::latch& ended, const Clock& clock) {
  const double cpu_before = cpu_ns();
  const TimePoint begin = clock.now();
  for (uint32_t i = 0; i < tasks.size(); i++) runners.of(i).add(tasks[i]);
  ended.wait();
  const std::chrono::duration<double> seconds = clock.now() - begin;
  return {static_cast<double>(steps) / seconds.count(),
          (cpu_ns() - cpu_before) / static_cast<double>(steps)};
}

Measurement run_busy(Side side, const Options& options, uint64_t rounds, const Clock& clock) {
  std::latch ended(options.tasks);
  const uint64_t steps = std::max<uint64_t>(1, options.steps / options.tasks);
  std::vector<std::shared_ptr<RunnableTask>> tasks;
  for (uint32_t i = 0; i < options.tasks; i++)
    tasks.push_back(std::make_shared<BusyTask>(steps, rounds, ended));
  Runners runners(side, options, clock);
  return measure_run(tasks, runners, steps * options.tasks, ended, clock);
}

Measurement run_ping(Side side, const Options& options, uint32_t pairs, const Clock& clock) {
  Options of_run = options;
  of_run.tasks = 2 * pairs;
  std::latch ended(of_run.tasks);
  const uint64_t steps = std::max<uint64_t>(1, options.steps / of_run.tasks);
  Runners runners(side, of_run, clock);
  std::vector<std::shared_ptr<RunnableTask>> tasks;
  for (uint32_t i = 0; i < of_run.tasks; i += 2) {
    const auto one = std::make_shared<PingTask>(steps, ended);
    const auto other = std::make_shared<PingTask>(steps, ended);
    one->join(other, runners.of(i + 1));
    other->join(one, runners.of(i));
    one->give_turn();
    tasks.push_back(one);
    tasks.push_back(other);
  }
  return measure_run(tasks, runners, steps * of_run.tasks, ended, clock);
}

void measure_row(const std::string& what, const Options& options,
                 const std::function<Measurement(Side)>& run) {
  std::array<std::vector<double>, kSides> rates, cpu_times, ratios;
  for (uint32_t i = 0; i < options.repeat; i++) {
    std::array<double, kSides> rate{};
    for (int side = 0; side < kSides; side++) {
      const Measurement taken = run(static_cast<Side>(side));
      rate[side] = taken.steps_per_s;
      rates[side].push_back(taken.steps_per_s);
      cpu_times[side].push_back(taken.cpu_ns_per_step);
    }
    for (int side = 1; side < kSides; side++) ratios[side].push_back(rate[kPool] / rate[side]);
  }
  std::string keys;
  for (int side = 0; side < kSides; side++) {
    keys += fmt::format(", \"{}steps_per_s\": {:.0f}, \"{}cpu_ns_per_step\": {:.0f}", kNames[side],
                        median(rates[side]), kNames[side], median(cpu_times[side]));
  }
  fmt::print(
      "{{\"bench\": \"worker_pool\", {}, \"workers\": {}{}, \"ratio\": {:.3f}, "
      "\"plain_ratio\": {:.3f}, \"stealing_ratio\": {:.3f}}}\n",
      what, options.workers, keys, median(ratios[kThreads]), median(ratios[kPlain]),
      median(ratios[kStealing]));
  std::fflush(stdout);
}

void measure_clock(const Clock& clock) {
  constexpr int kReads = 2'000'000;
  const TimePoint begin = clock.now();
  for (int i = 0; i < kReads; i++) (void)clock.now();
  fmt::print("{{\"bench\": \"worker_pool\", \"load\": \"clock\", \"clock_read_ns\": {:.1f}}}\n",
             static_cast<double>((clock.now() - begin).count()) / kReads);
}

void measure(const Options& options) {
  const auto clock = make_system_clock();
  const Work work(*clock);
  measure_clock(*clock);
  for (const uint32_t nanos : options.work_ns) {
    measure_row(
        fmt::format("\"load\": \"busy\", \"work_ns\": {}, \"tasks\": {}", nanos, options.tasks),
        options, [&](Side side) { return run_busy(side, options, work.rounds(nanos), *clock); });
  }
  for (const uint32_t pairs : {1u, options.tasks / 2}) {
    measure_row(fmt::format("\"load\": \"ping_pong\", \"work_ns\": 0, \"tasks\": {}", 2 * pairs),
                options, [&](Side side) { return run_ping(side, options, pairs, *clock); });
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures what it costs to step many tasks on few threads.");
  app.add_option("--tasks", options.tasks, "that are stepped")
      ->check(CLI::Range(2, 10'000))
      ->capture_default_str();
  app.add_option("--workers", options.workers, "threads of each pool")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--work-ns", options.work_ns, "of a step, one row each")
      ->delimiter(',')
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "of a run, all tasks together")
      ->check(CLI::Range(1'000, 2'000'000'000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  measure(options);
  return 0;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
