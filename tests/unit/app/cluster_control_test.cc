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
  Result<ProcessIdentity> spawn(const Command&) override { return unavailable("no process left"); }
  std::vector<ProcessExit> reap() override { return {}; }
  bool alive(const ProcessIdentity& process) const override { return process == living; }
  void send_signal(const ProcessIdentity&, ProcessSignal) override {}

  ProcessIdentity living;
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

  Status start() {
    ClusterControl control(*directory_, host_, interrupted_, *clock_, signals_);
    return control.start({}).status();
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

}  // namespace
}  // namespace freshet
