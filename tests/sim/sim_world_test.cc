#include "tests/sim/sim_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SimWorldTest : public testing::Test {
 protected:
  void settle() { world_.queue().run_until(world_.queue().now() + 1s); }

  SimWorld world_{5};
  SimHost& host_ = world_.add_host("host");
  SimProcess& process_ = world_.start_process(host_, "process");
};

TEST_F(SimWorldTest, CrashInTheMiddleOfAFunctionHidesTheRestOfIt) {
  world_.fault_plan().add("deploy.before_ack", 1, SimFaultPlan::Action::kCrash);
  ASSERT_TRUE(process_.file_system().write_atomically("/before", "seen").ok());
  Status written;
  bool posted_ran = false;
  SimExecutor& executor = process_.add_executor();
  executor.post("work", [&] {
    process_.faults().at("deploy.before_ack");
    written = process_.file_system().write_atomically("/after", "unseen");
    executor.post("later", [&] { posted_ran = true; });
    EXPECT_FALSE(process_.transport().listen(Address{"127.0.0.1", 0}, [](auto) {}).ok());
  });
  settle();
  EXPECT_FALSE(process_.alive());
  EXPECT_FALSE(written.ok());
  EXPECT_FALSE(posted_ran);
  EXPECT_EQ(host_.files.files(), (std::map<std::string, std::string>{{"/before", "seen"}}));
}

TEST_F(SimWorldTest, FilesOpenedBeforeTheCrashTakeNothingAfterIt) {
  auto file = process_.file_system().create("/log");
  ASSERT_TRUE(file.ok() && (*file)->append("one").ok());
  process_.crash();
  EXPECT_FALSE((*file)->append("two").ok());
  EXPECT_EQ(host_.files.files().at("/log"), "one");
}

TEST_F(SimWorldTest, NextProcessOfTheHostFindsItsFiles) {
  ASSERT_TRUE(process_.file_system().write_atomically("/kept", "x").ok());
  process_.crash();
  SimProcess& next = world_.start_process(host_, "process");
  EXPECT_NE(next.id(), process_.id());
  EXPECT_EQ(next.file_system().read_all("/kept").value(), "x");
}

class Program {
 public:
  explicit Program(int& destroyed) : destroyed_(destroyed) {}
  ~Program() { ++destroyed_; }

 private:
  int& destroyed_;
};

TEST_F(SimWorldTest, KilledProgramsRunNoDestructorsAndThoseThatExitDo) {
  int destroyed = 0;
  process_.run(std::make_shared<Program>(destroyed));
  process_.crash();
  settle();
  EXPECT_EQ(destroyed, 0);
  SimProcess& next = world_.start_process(host_, "process");
  next.run(std::make_shared<Program>(destroyed));
  next.exit();
  EXPECT_EQ(destroyed, 1);
}

TEST_F(SimWorldTest, PausedProcessGoesOnWhereItWas) {
  SimExecutor& executor = process_.add_executor();
  std::vector<TimePoint> ran;
  executor.post("first", [&] {
    ran.push_back(world_.queue().now());
    process_.pause(5s);
  });
  executor.post("second", [&] { ran.push_back(world_.queue().now()); });
  world_.queue().run_until(TimePoint(10s));
  ASSERT_EQ(ran.size(), 2u);
  EXPECT_LT(ran[0], TimePoint(1s));
  EXPECT_GE(ran[1], TimePoint(5s));
}

TEST_F(SimWorldTest, CollectsLogLinesAndTellsUnexpectedErrors) {
  world_.log().expect_error("job_failed");
  LOG_INFO("task_started", {{"tasks", 3}});
  LOG_ERROR("job_failed");
  EXPECT_TRUE(world_.log().unexpected_errors().empty());
  LOG_ERROR("disk_gone");
  EXPECT_THAT(world_.log().unexpected_errors(), ElementsAre(HasSubstr("disk_gone")));
  EXPECT_EQ(world_.log().count("task_started"), 1u);
}

/// Two processes say hello to each other until one has crashed and half the replies are lost.
uint64_t hash_of_chatter(uint64_t seed) {
  SimWorld world(seed);
  SimHost& host = world.add_host("host");
  world.fault_plan().set_chance(5, 2);
  for (int i = 0; i < 3; ++i) {
    SimProcess& process = world.start_process(host, "process");
    SimExecutor& executor = process.add_executor();
    for (int step = 0; step < 10; ++step) {
      executor.schedule(step * 1ms, "step", [&process] {
        process.faults().at("task.before_element");
        LOG_INFO("step", {{"process", process.id().value}, {"chance", process.random().next()}});
      });
    }
  }
  world.queue().run_until(TimePoint(10s));
  EXPECT_EQ(world.fault_plan().fired_count(), 2u);
  return world.queue().trace_hash();
}

TEST(SimWorldSeedTest, SameSeedGivesTheSameTrace) {
  EXPECT_EQ(hash_of_chatter(1), hash_of_chatter(1));
  EXPECT_NE(hash_of_chatter(1), hash_of_chatter(2));
}

}  // namespace
}  // namespace freshet::sim
