#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

constexpr const char* kNotUsed = "data_unix_socket_not_used";
constexpr const char* kNotOpen = "data_unix_socket_not_open";

/// The sockets of a TaskManager: one, or none.
std::vector<std::string> sockets_of(const TestCluster& cluster, const std::string& task_manager) {
  const auto directory = ClusterDirectory::of(cluster.state_directory(), cluster.name());
  const auto entries = make_local_file_system()->list(directory->files_of(task_manager));
  EXPECT_TRUE(entries.ok()) << entries.status().to_string();
  std::vector<std::string> sockets;
  for (const FileInfo& entry : entries.ok() ? *entries : std::vector<FileInfo>()) {
    if (entry.path.ends_with(".socket")) sockets.push_back(entry.path);
  }
  return sockets;
}

/// Open connections that were made to these Unix sockets.
size_t connections_to(const std::vector<std::string>& paths) {
  std::istringstream table(run_program("/bin/cat", {"/proc/net/unix"}).output);
  size_t count = 0;
  for (std::string line; std::getline(table, line);) {
    // Num RefCount Protocol Flags Type St Inode Path; state 03 is connected.
    std::istringstream fields(line);
    std::string skipped;
    std::string state;
    std::string name;
    fields >> skipped >> skipped >> skipped >> skipped >> skipped >> state >> skipped >> name;
    count += state == "03" && std::ranges::count(paths, name) != 0;
  }
  return count;
}

/// Runs a job over two TaskManagers and looks, in its middle, how they are connected.
class UnixSocketClusterTest : public ::testing::Test {
 protected:
  void start(std::vector<std::string> arguments) {
    TestCluster::Options options;
    options.arguments = std::move(arguments);
    cluster_ = std::make_unique<TestCluster>(options);
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
    find_sockets();
  }

  void run_job(size_t expected_connections) {
    const TemporaryDirectory directory;
    GatedJob job(*cluster_, directory.path());
    ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
    EXPECT_EQ(connections_to(sockets_), expected_connections);
    job.open_gate();
    ASSERT_EQ(job.run().wait(60s), 0) << job.errors();
    job.expect_exact_result();
  }

  size_t count_in_logs(const std::string& text) {
    return cluster_->count_in_log("taskmanager-1", text) +
           cluster_->count_in_log("taskmanager-2", text);
  }

  /// Of both TaskManagers.
  void find_sockets() {
    sockets_.clear();
    for (const std::string name : {"taskmanager-1", "taskmanager-2"}) {
      const auto some = sockets_of(*cluster_, name);
      sockets_.insert(sockets_.end(), some.begin(), some.end());
    }
  }

  std::unique_ptr<TestCluster> cluster_;
  std::vector<std::string> sockets_;
};

TEST_F(UnixSocketClusterTest, CarriesDataBetweenTaskManagersOfOneHost) {
  start({});
  ASSERT_EQ(sockets_.size(), 2u);
  run_job(2);
  EXPECT_EQ(count_in_logs(kNotUsed), 0u);
  EXPECT_EQ(cluster_->stop().exit_code, 0);
  for (const std::string& socket : sockets_) EXPECT_FALSE(exists(socket)) << socket;
}

TEST_F(UnixSocketClusterTest, UsesTcpWhenToldSo) {
  start({"-D", "taskmanager.network.unix-sockets=false"});
  EXPECT_TRUE(sockets_.empty());
  run_job(0);
  EXPECT_EQ(count_in_logs(kNotUsed), 0u);
}

TEST_F(UnixSocketClusterTest, FallsBackToTcpWhenTheSocketCannotBeReached) {
  start({});
  // As it looks from where the other's files are not seen.
  for (const std::string& socket : sockets_) ASSERT_EQ(unlink(socket.c_str()), 0);
  run_job(0);
  run_job(0);
  EXPECT_EQ(cluster_->count_in_log("taskmanager-1", kNotUsed), 1u);  // Not for each job.
  EXPECT_EQ(cluster_->count_in_log("taskmanager-2", kNotUsed), 1u);
}

TEST_F(UnixSocketClusterTest, ListensAgainInTheDirectoryOfATaskManagerThatWasKilled) {
  start({});
  cluster_->kill("taskmanager-1");
  ASSERT_TRUE(wait_until(
      [&] {
        const ClusterProcess now = cluster_->process("taskmanager-1");
        return now.running && now.restarts == 1 &&
               cluster_->count_in_log("jobmanager", "task_manager_registered") == 3;
      },
      20s))
      << cluster_->log("jobmanager");
  find_sockets();
  EXPECT_EQ(sockets_.size(), 2u);  // What the killed one left is gone.
  run_job(2);
  EXPECT_EQ(count_in_logs(kNotOpen), 0u);
}

}  // namespace
}  // namespace freshet::testing
