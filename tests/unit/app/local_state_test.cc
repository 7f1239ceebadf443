#include "runtime/app/local_state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/app/process_host.h"

namespace freshet {
namespace {

class LocalStateTest : public ::testing::Test {
 protected:
  LocalStateTest() : parent_(::testing::TempDir() + "local_state_" + std::to_string(getpid())) {}
  ~LocalStateTest() override { EXPECT_TRUE(files_->remove_all(parent_).ok()); }

  std::string make(const std::string& name) {
    const std::string path = parent_ + "/freshet-local-" + name;
    EXPECT_TRUE(files_->create_directories(path + "/jobmanager").ok());
    return path;
  }

  /// The id of a process that has ended and was reaped.
  static std::string ended_process() {
    const auto processes = make_system_process_host();
    const auto process = processes->spawn({"/bin/true", {}, "", false});
    EXPECT_TRUE(process.ok());
    waitpid(process->pid, nullptr, 0);
    return std::to_string(process->pid);
  }

  const std::string parent_;
  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
};

TEST_F(LocalStateTest, RemovesWhatProcessesLeftThatHaveEnded) {
  const std::string stale = make(ended_process());
  const std::string of_own_id = local_state_directory(parent_, kLocalClusterState);
  ASSERT_TRUE(files_->create_directories(of_own_id).ok());
  remove_stale_local_state(parent_, kLocalClusterState, *files_);
  EXPECT_FALSE(files_->info(stale).ok());
  EXPECT_FALSE(files_->info(of_own_id).ok());
}

TEST_F(LocalStateTest, KeepsWhatLivesOrIsOfAnotherKind) {
  const std::string alive = make(std::to_string(getppid()));
  const std::string other = make("7x");
  const std::string none = make("");
  const std::string file = parent_ + "/freshet-local-" + ended_process();
  ASSERT_TRUE(files_->write_atomically(file, "not a directory").ok());
  const std::string other_kind = parent_ + "/taskmanager-" + ended_process();
  ASSERT_TRUE(files_->create_directories(other_kind).ok());
  remove_stale_local_state(parent_, kLocalClusterState, *files_);
  for (const std::string& path : {alive, other, none, file, other_kind}) {
    EXPECT_TRUE(files_->info(path).ok()) << path;
  }
}

TEST_F(LocalStateTest, RemovesItsOwnDirectoryAtTheEndAndWhatOthersOfItsKindLeft) {
  const std::string stale = parent_ + "/jobmanager-" + ended_process();
  const std::string alive = parent_ + "/jobmanager-" + std::to_string(getppid());
  ASSERT_TRUE(files_->create_directories(stale + "/blobs").ok());
  ASSERT_TRUE(files_->create_directories(alive).ok());
  std::string path;
  {
    const auto state = ForegroundState::own(parent_, "jobmanager", *files_);
    ASSERT_TRUE(state.ok()) << state.status().to_string();
    path = (*state)->path();
    EXPECT_TRUE(files_->write_atomically(path + "/blob", "x").ok());
    EXPECT_FALSE(files_->info(stale).ok());
  }
  EXPECT_EQ(path, parent_ + "/jobmanager-" + std::to_string(getpid()));
  EXPECT_FALSE(files_->info(path).ok());
  EXPECT_TRUE(files_->info(alive).ok());
}

TEST_F(LocalStateTest, LeavesTheDirectoryOfItsUser) {
  const std::string path = parent_ + "/mine";
  for (int again = 0; again < 2; again++) {
    const auto state = ForegroundState::of_user(path, *files_);
    ASSERT_TRUE(state.ok()) << state.status().to_string();
    EXPECT_EQ((*state)->path(), path);
  }
  EXPECT_TRUE(files_->info(path).ok());
}

TEST_F(LocalStateTest, RefusesADirectoryThatOthersCanWriteTo) {
  const std::string path = parent_ + "/shared";
  ASSERT_TRUE(files_->create_directories(path).ok());
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  EXPECT_FALSE(ForegroundState::of_user(path, *files_).ok());
  EXPECT_FALSE(ForegroundState::own(path, "jobmanager", *files_).ok());
  EXPECT_TRUE(files_->list(path)->empty());
}

}  // namespace
}  // namespace freshet
