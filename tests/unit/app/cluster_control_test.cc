#include "runtime/app/cluster_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>
#include <utility>

#include "runtime/app/host_id.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

/// Knows who lives and starts nothing.
class FakeProcessHost final : public ProcessHost {
 public:
  Result<ProcessIdentity> spawn(const Command&) override {
    if (!starts) return unavailable("no process left");
    return starts();
  }
  std::vector<ProcessExit> reap() override { return {}; }
  bool alive(const ProcessIdentity& process) const override { return process == living; }
  void send_signal(const ProcessIdentity&, ProcessSignal) override { living = {}; }

  ProcessIdentity living;
  std::function<ProcessIdentity()> starts;  // Empty: nothing can be started.
};

/// The files of this machine, with something done just before a new directory is made.
class InterruptedFileSystem final : public FileSystem {
 public:
  explicit InterruptedFileSystem(FileSystem& files) : files_(files) {}

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return files_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return files_.create(path);
  }
  Result<FileInfo> info(const std::string& path) override { return files_.info(path); }
  Result<std::vector<FileInfo>> list(const std::string& directory) override {
    return files_.list(directory);
  }
  Status create_directories(const std::string& path) override {
    return files_.create_directories(path);
  }
  Status create_new_directory(const std::string& path) override {
    if (meanwhile) std::exchange(meanwhile, {})();
    return files_.create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Status remove(const std::string& path) override { return files_.remove(path); }
  Status remove_all(const std::string& path) override { return files_.remove_all(path); }
  Status remove_empty_directory(const std::string& path) override {
    return files_.remove_empty_directory(path);
  }

  std::function<void()> meanwhile;

 private:
  FileSystem& files_;
};

class ClusterControlTest : public ::testing::Test {
 protected:
  ClusterControlTest() {
    char path[] = "/tmp/freshet-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    base_ = path;
    directory_ = std::make_unique<ClusterDirectory>(*ClusterDirectory::of(base_, "test"));
    leave({1000, 1});
  }
  ~ClusterControlTest() override { EXPECT_TRUE(files_->remove_all(base_).ok()); }

  /// A directory as the supervisor called so leaves it.
  void leave(const ProcessIdentity& supervisor) {
    ASSERT_TRUE(files_->remove_all(directory_->path()).ok());
    ASSERT_TRUE(files_->create_directories(directory_->path()).ok());
    ClusterState state;
    state.boot = boot_id(*files_);
    state.supervisor = supervisor;
    ASSERT_TRUE(files_->write_atomically(directory_->state_file(), to_text(state)).ok());
  }

  Status start(const ClusterControl::StartOptions& options = {}) {
    ClusterControl control(*directory_, host_, interrupted_, *clock_, signals_);
    return control.start(options).status();
  }

  /// Starts a supervisor that leaves this state, and waits for more in vain.
  Status start_in_vain(const std::vector<ClusterProcess>& processes, const Status& registered) {
    leave({999, 1});
    host_.starts = [&] {
      ClusterState state;
      state.boot = boot_id(*files_);
      state.supervisor = {1000, 1};
      state.processes = processes;
      EXPECT_TRUE(files_->write_atomically(directory_->state_file(), to_text(state)).ok());
      EXPECT_TRUE(files_->write_atomically(directory_->log_of("jobmanager"), "it waits").ok());
      host_.living = {1000, 1};
      return host_.living;
    };
    ClusterControl::StartOptions options;
    options.processes = 2;
    options.check_registered = [&](const Address&) { return registered; };
    options.patience = 20ms;
    return start(options);
  }

  std::vector<std::string> names() {
    std::vector<std::string> names;
    const std::vector<FileInfo> entries = *files_->list(base_);
    for (const FileInfo& entry : entries) {
      names.push_back(entry.path.substr(base_.size() + 1));
    }
    return names;
  }

  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  InterruptedFileSystem interrupted_{*files_};
  FakeProcessHost host_;
  SignalWaiter signals_;
  std::string base_;
  std::unique_ptr<ClusterDirectory> directory_;
};

TEST_F(ClusterControlTest, ReplacesWhatACrashLeft) {
  ASSERT_TRUE(files_->write_atomically(directory_->path() + "/old.log", "gone").ok());
  const Status started = start();
  EXPECT_EQ(started.message(), "no process left");  // Else the end of the old log.
  EXPECT_TRUE(names().empty()) << names().front();
}

TEST_F(ClusterControlTest, LeavesAClusterThatRunsAlone) {
  host_.living = {1000, 1};
  const Status started = start();
  EXPECT_EQ(started.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(started.message(), HasSubstr("'test' is running already (supervisor 1000)"));
  EXPECT_EQ(names(), std::vector<std::string>{"test"});
}

TEST_F(ClusterControlTest, LeavesADirectoryAloneOfWhichItCannotKnowWhoseItIs) {
  ASSERT_TRUE(files_->write_atomically(directory_->state_file(), "freshet").ok());
  const Status started = start();
  EXPECT_EQ(started.code(), StatusCode::kDataLoss);
  EXPECT_THAT(started.message(), HasSubstr(directory_->state_file() + " is damaged"));
  EXPECT_EQ(names(), std::vector<std::string>{"test"});
}

TEST_F(ClusterControlTest, LeavesTheWinnerOfTwoStartsOverAStaleDirectoryAlone) {
  interrupted_.meanwhile = [this] {
    leave({2000, 2});
    host_.living = {2000, 2};
  };
  const Status started = start();
  EXPECT_EQ(started.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(started.message(), HasSubstr("supervisor 2000"));
  ASSERT_EQ(names(), std::vector<std::string>{"test"});
  const auto state = read_cluster_state(*directory_, *files_);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->supervisor.pid, 2000);
  EXPECT_EQ(files_->list(directory_->path())->size(), 1u) << "a mark is left";
}

TEST_F(ClusterControlTest, LeavesAStaleDirectoryToTheStartThatTakesItOver) {
  ASSERT_TRUE(files_->create_new_directory(directory_->path() + "/taken-over").ok());
  const Status started = start();
  EXPECT_EQ(started.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(started.message(), HasSubstr("freshet cluster stop --name test"));
  EXPECT_EQ(names(), std::vector<std::string>{"test"});
  EXPECT_TRUE(read_cluster_state(*directory_, *files_).ok());
}

TEST_F(ClusterControlTest, SaysWhatItWaitedForAndKeepsTheLogs) {
  const Address address{"127.0.0.1", 5000};
  const ClusterProcess job_manager{"jobmanager", {1001, 1}, true, 0, address};
  const ClusterProcess task_manager{"taskmanager-1", {1002, 1}, true, 0, address};
  ClusterProcess silent = task_manager;
  silent.address.reset();
  ClusterProcess dead = task_manager;
  dead.running = false;
  const Status missing = unavailable("0 of 1 TaskManagers have registered");
  const std::pair<std::vector<ClusterProcess>, std::string> cases[] = {
      {{}, "its supervisor has started nothing (log: supervisor.log)"},
      {{job_manager, silent}, "taskmanager-1 has not opened its port (log: taskmanager-1.log)"},
      {{job_manager, dead}, "taskmanager-1 does not run (log: taskmanager-1.log)"},
      {{job_manager, task_manager}, "0 of 1 TaskManagers have registered (log: jobmanager.log)"},
  };
  for (const auto& [processes, message] : cases) {
    const Status started = start_in_vain(processes, missing);
    EXPECT_EQ(started.code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(started.message(),
                HasSubstr("did not come up within 20 ms (--timeout): " + message));
    EXPECT_THAT(started.message(), HasSubstr("kept in " + base_ + "/.failed-test"));
    EXPECT_EQ(names(), std::vector<std::string>{".failed-test"});
    EXPECT_EQ(*files_->read_all(base_ + "/.failed-test/jobmanager.log"), "it waits");
    EXPECT_EQ(host_.living, ProcessIdentity{});
  }
}

}  // namespace
}  // namespace freshet
