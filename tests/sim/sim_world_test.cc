#include "tests/sim/sim_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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
  EXPECT_EQ(host_.disk.files().files(), (std::map<std::string, std::string>{{"/before", "seen"}}));
}

TEST_F(SimWorldTest, FilesOpenedBeforeTheCrashTakeNothingAfterIt) {
  auto file = process_.file_system().create("/log");
  ASSERT_TRUE(file.ok() && (*file)->append("one").ok());
  process_.crash();
  EXPECT_FALSE((*file)->append("two").ok());
  EXPECT_EQ(host_.disk.files().files().at("/log"), "one");
}

TEST_F(SimWorldTest, NextProcessOfTheHostFindsItsFiles) {
  ASSERT_TRUE(process_.file_system().write_atomically("/kept", "x").ok());
  process_.crash();
  SimProcess& next = world_.start_process(host_, "process");
  EXPECT_NE(next.id(), process_.id());
  EXPECT_EQ(next.file_system().read_all("/kept").value(), "x");
}

TEST_F(SimWorldTest, CrashOfTheHostTearsWhatWasNotSyncedHereAndOnTheFileServer) {
  for (const std::string path : {"/local", "/shared/remote"}) {
    ASSERT_TRUE(process_.file_system().create_directories("/shared").ok());
    auto file = process_.file_system().create(path);
    ASSERT_TRUE(file.ok() && (*file)->append("synced").ok() && (*file)->sync().ok());
    ASSERT_TRUE((*file)->append(" and more that is not").ok());
  }
  world_.crash_host(host_);
  EXPECT_FALSE(process_.alive());
  for (const std::string& content : {host_.disk.files().files().at("/local"),
                                     world_.shared().files().files().at("/shared/remote")}) {
    EXPECT_THAT(content, StartsWith("synced"));
    EXPECT_THAT(std::string("synced and more that is not"), StartsWith(content));
  }
}

TEST_F(SimWorldTest, CrashOfTheHostMayTakeBackTheLastNamesInOrder) {
  uint32_t taken_back = 0;
  for (uint32_t round = 0; round < 20; ++round) {
    SimProcess& process = world_.start_process(host_, "process");
    ASSERT_TRUE(process.file_system().create_directories("/first/inner").ok());
    ASSERT_TRUE(process.file_system().create("/second").ok());
    world_.crash_host(host_);
    MemoryFileSystem& files = host_.disk.files();
    EXPECT_TRUE(files.info("/first/inner").ok() || !files.info("/second").ok());
    taken_back += files.info("/second").ok() ? 0 : 1;
    ASSERT_TRUE(files.remove_all("/first").ok());
    (void)files.remove("/second");
  }
  EXPECT_GT(taken_back, 0u);
  EXPECT_LT(taken_back, 20u);
}

TEST_F(SimWorldTest, CrashOfTheHostTakesBackNothingBeforeTheLastRenameNorOldNames) {
  ASSERT_TRUE(process_.file_system().create("/old").ok());
  world_.queue().run_until(TimePoint(10s));
  ASSERT_TRUE(process_.file_system().create_directories("/made/inner").ok());
  ASSERT_TRUE(process_.file_system().write_atomically("/renamed", "x").ok());
  world_.crash_host(host_);
  EXPECT_TRUE(host_.disk.files().info("/old").ok());
  EXPECT_TRUE(host_.disk.files().info("/made/inner").ok());
  EXPECT_EQ(host_.disk.files().files().at("/renamed"), "x");
  EXPECT_FALSE(host_.disk.files().info("/renamed.part").ok());
}

TEST_F(SimWorldTest, CrashOfTheHostTakesBackNoNameOfTheFileServer) {
  ASSERT_TRUE(process_.file_system().create_directories("/shared/made").ok());
  world_.crash_host(host_);
  EXPECT_TRUE(world_.shared().files().info("/shared/made").ok());
}

TEST_F(SimWorldTest, FullDiskTakesAPartAndNamesThePathUntilItHeals) {
  auto file = process_.file_system().create("/log");
  ASSERT_TRUE(file.ok());
  host_.disk.fill(1s);
  const Status status = (*file)->append("content");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("/log"));
  EXPECT_THAT(std::string("content"), StartsWith(host_.disk.files().files().at("/log")));
  EXPECT_FALSE((*file)->sync().ok());
  EXPECT_FALSE(process_.file_system().create("/other").ok());
  EXPECT_FALSE(process_.file_system().rename("/log", "/moved").ok());
  EXPECT_TRUE(process_.file_system().info("/log").ok());
  world_.queue().run_until(TimePoint(2s));
  EXPECT_TRUE(process_.file_system().rename("/log", "/moved").ok());
}

TEST_F(SimWorldTest, RefusesSoManyOperationsOnAPath) {
  host_.disk.refuse(FileOperation::kCreate, "/a", 2);
  EXPECT_FALSE(process_.file_system().create("/a").ok());
  EXPECT_TRUE(process_.file_system().create("/b").ok());
  EXPECT_THAT(process_.file_system().create("/a").status().message(), HasSubstr("/a"));
  EXPECT_TRUE(process_.file_system().create("/a").ok());
  EXPECT_EQ(host_.disk.refusals(), 2u);
}

TEST_F(SimWorldTest, StalledThreadGoesOnWithWhatWaitsWhileOthersRun) {
  SimExecutor& stalled = process_.add_executor();
  SimExecutor& other = process_.add_executor();
  std::vector<TimePoint> ran;
  stalled.stall(5s);
  stalled.post("late", [&] { ran.push_back(world_.queue().now()); });
  other.post("soon", [&] { ran.push_back(world_.queue().now()); });
  world_.queue().run_until(TimePoint(10s));
  ASSERT_EQ(ran.size(), 2u);
  EXPECT_LT(ran[0], TimePoint(1s));
  EXPECT_GE(ran[1], TimePoint(5s));
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
