#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace freshet::sim
