#include <gtest/gtest.h>

#include <string>

#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

/// Less than the heartbeat timeout, and more than a TaskManager waits for an answer while it
/// registers: it makes another connection, and what it said on the first one comes later.
constexpr Duration kHeld = 7s;
constexpr uint64_t kEventsToRegister = 120;  // No TaskManager needs as many.

/// Messages that overtake each other on different connections, at each moment of a registration.
class RegistrationSimTest : public testing::Test {
 protected:
  SimProcess& first() { return *run_->cluster().task_managers().front(); }

  void start_and_run(uint64_t events) {
    run_.reset();  // One world at a time has the log.
    run_ = std::make_unique<SimRun>(
        word_count_job(), SimCluster::Options{.seed = 7, .configuration = patient_configuration()});
    for (uint64_t i = 0; i < events; ++i) run_->world().queue().run_one();
  }
  size_t count(const std::string& event) { return run_->world().log().count(event); }

  std::unique_ptr<SimRun> run_;
};

TEST_F(RegistrationSimTest, WhatATaskManagerSaidEarlierCostsItsNewRegistrationNothing) {
  size_t given_up = 0;
  for (uint64_t events = 0; events < kEventsToRegister; ++events) {
    SCOPED_TRACE(events);
    start_and_run(events);
    const SimProcessId job_manager = run_->cluster().job_manager()->id();
    if (run_->world().network().hold(first().id(), job_manager, kHeld) == 0) continue;
    run_->expect_exactly_once();
    EXPECT_EQ(run_->cluster().restarts(), 0u);
    EXPECT_EQ(count("task_manager_lost"), 0u) << run_->last_lines();
    given_up += count("job_manager_lost");
  }
  EXPECT_GT(given_up, 10u);  // Otherwise nothing came late.
}

TEST_F(RegistrationSimTest, LateAnswersOfTheJobManagerDoNoHarm) {
  size_t given_up = 0;
  for (uint64_t events = 0; events < kEventsToRegister; ++events) {
    SCOPED_TRACE(events);
    start_and_run(events);
    const SimProcessId job_manager = run_->cluster().job_manager()->id();
    if (run_->world().network().hold(job_manager, first().id(), kHeld) == 0) continue;
    run_->expect_exactly_once();
    given_up += count("job_manager_lost");
  }
  EXPECT_GT(given_up, 10u);
}

/// Its tasks still run when its connection is lost: their slots are not there for the next ones.
TEST_F(RegistrationSimTest, ATaskManagerRegistersAgainWhenTheTasksOfItsLastSessionHaveEnded) {
  start_and_run(0);
  SimEventQueue& queue = run_->world().queue();
  SimCluster& cluster = run_->cluster();
  constexpr size_t kAllRun = 18;  // Nine tasks, two states each.
  ASSERT_TRUE(queue.run_until([&] { return count("task_state") >= kAllRun; }, 1min));
  SimProcess& stalled = first();
  cluster.stall_files(stalled, 5s);  // And its tasks with them.
  run_->world().network().reset(stalled.id(), cluster.job_manager()->id());
  queue.run_until(queue.now() + 4s);
  EXPECT_GT(cluster.hosted_tasks(), 0u);
  EXPECT_EQ(count("task_manager_lost"), 1u);
  EXPECT_EQ(count("task_manager_registered"), 2u);
  run_->expect_exactly_once();
  EXPECT_EQ(count("task_manager_registered"), 3u);
}

/// Connections between the processes of a cluster are held, reset, clogged and split, and the
/// JobManager dies, at random moments close to each other.
class ProtocolSeedTest : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint32_t kFaults = 8;
  static constexpr Duration kAtOnce = 40ms;
  static constexpr Duration kLater = 15s;
  static constexpr uint64_t kStates = 80;  // Somewhat more than tasks go through before the end.

  void break_something() {
    SimNetwork& network = run_.world().network();
    const std::vector<SimProcess*> live = run_.cluster().task_managers();
    SimProcess* const job_manager = run_.cluster().job_manager();
    if (live.empty() || job_manager == nullptr) return;
    const SimProcessId a = live[random_->below(live.size())]->id();
    SimProcess& other = *live[random_->below(live.size())];
    const SimProcessId b = other.id() == a || random_->one_in(2) ? job_manager->id() : other.id();
    switch (random_->below(8)) {
      case 0:
        network.reset(a, b);
        return;
      case 1:
        network.clog(a, b, Duration(random_->below(kHeld.count())));
        return;
      case 2:
        network.split(a, b);
        run_.world().queue().add(run_.world().queue().now() + kHeld, 0, "heal",
                                 [&network, a, b] { network.heal(a, b); });
        return;
      case 3:
        if (random_->one_in(2)) return job_manager->crash();
        return other.crash();
      case 4:
      case 5:
        network.hold(a, b, Duration(random_->below(3 * kHeld.count())));
        return;
      default:
        network.hold(b, a, Duration(random_->below(3 * kHeld.count())));
    }
  }

  /// Either must have come, or nothing raced.
  static void TearDownTestSuite() {
    if (cancelled_ + finished_ < 50) return;
    EXPECT_GT(registrations_, 3 * runs_);  // Two would be without faults.
    EXPECT_GT(cancelled_, 10u);
    EXPECT_GT(finished_, 0u);
  }

  static inline uint64_t runs_ = 0;
  static inline uint64_t registrations_ = 0;
  static inline uint64_t cancelled_ = 0;
  static inline uint64_t finished_ = 0;

  const std::unique_ptr<Random> random_ = make_seeded_random(GetParam() * 31);
  SimRun run_{ledger_job(),
              {.seed = GetParam(),
               .same_ports = GetParam() % 2 == 0,
               .configuration = patient_configuration()}};
};

TEST_P(ProtocolSeedTest, IsExactWhateverComesLateOrAfterSomethingNewer) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  SimEventQueue& queue = run_.world().queue();
  // Before anybody is registered, or when the job begins; and what follows from that is met again.
  if (GetParam() % 3 != 0) {
    ASSERT_TRUE(
        queue.run_until([&] { return run_.cluster().job_state() == JobState::kRunning; }, 1min))
        << run_.last_lines();
  }
  for (uint32_t i = 0; i < kFaults; ++i) {
    const Duration span = i % 2 == 0 ? kAtOnce : kLater;
    queue.add(queue.now() + Duration(random_->below(span.count())), 0, "fault",
              [this] { break_something(); });
  }
  queue.run_until(queue.now() + kLater);
  run_.expect_exactly_once_or_refused();
  ++runs_;
  registrations_ += run_.world().log().count("registered");
}

/// A job is cancelled when it ends, or nearly.
TEST_P(ProtocolSeedTest, CancelledJobLeavesNothingOrWasFinished) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  SimCluster& cluster = run_.cluster();
  SimEventQueue& queue = run_.world().queue();
  ASSERT_TRUE(queue.run_until(
      [&] {
        return run_.world().log().count("task_state") > GetParam() % kStates ||
               cluster.job_state() == JobState::kCommitting;
      },
      1min));
  cluster.cancel();
  if (GetParam() % 4 == 0) break_something();
  if (!queue.run_until([&] { return cluster.has_ended(0); }, 30s)) cluster.cancel();
  ASSERT_TRUE(cluster.run_until_ended(10min)) << run_.last_lines();
  ASSERT_TRUE(queue.run_until([&] { return cluster.hosted_tasks() == 0; }, 2min))
      << run_.last_lines();
  queue.run_until(queue.now() + 1min);
  if (cluster.job_state() != JobState::kFinished && cluster.submissions() < 2) {
    EXPECT_EQ(cluster.job_state(), JobState::kCanceled) << cluster.job_cause().to_string();
    EXPECT_TRUE(run_.output().empty());
    EXPECT_TRUE(run_.leftovers().empty()) << run_.leftovers().front();
    ++cancelled_;
  } else if (cluster.submissions() < 2) {
    EXPECT_EQ(run_.output(), ledger_job().expected);
    ++finished_;
  }
  EXPECT_EQ(cluster.segment_bytes_in_use(), 0u);
  EXPECT_TRUE(cluster.problems().empty()) << cluster.problems().front();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProtocolSeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace freshet::sim
