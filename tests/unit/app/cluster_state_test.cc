#include "runtime/app/cluster_state.h"

#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

ClusterState example() {
  ClusterState state;
  state.boot = "b00t";
  state.supervisor = {10, 1000};
  state.processes.push_back({"jobmanager", {11, 1001}, true, 0, Address{"127.0.0.1", 6123}});
  state.processes.push_back({"taskmanager-1", {12, 1002}, false, 3, std::nullopt});
  return state;
}

TEST(ClusterStateTest, SurvivesBeingWrittenAndRead) {
  const auto read = parse_cluster_state(to_text(example()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, example());
}

TEST(ClusterStateTest, RefusesDamagedFilesAndNamesTheLine) {
  for (const std::string text : {"", "something else", "freshet-cluster 1\nprocess jobmanager x",
                                 "freshet-cluster 1\nwhat 1",
                                 "freshet-cluster 1\nprocess jobmanager 1 2 running 0 nowhere"}) {
    EXPECT_FALSE(parse_cluster_state(text).ok()) << text;
  }
}

TEST(ClusterStateTest, TakesNothingThatItWouldWriteOtherwise) {
  const std::string start = "freshet-cluster 1\nboot b\nsupervisor 1 2\n";
  ASSERT_TRUE(parse_cluster_state(start).ok());
  ASSERT_TRUE(parse_cluster_state("freshet-cluster 1\nboot \nsupervisor 0 0\n").ok());
  for (const std::string& text :
       {std::string("freshet-cluster 1\n"), std::string("freshet-cluster 1\nboot b\n"),
        std::string("freshet-cluster 1\nsupervisor 1 2\nboot b\n"),
        std::string("freshet-cluster 1\nboot b\nsupervisor -1 2\n"),
        std::string("freshet-cluster 1\nboot b\nsupervisor 99999999999 2\n"), start + "boot c\n",
        start + "process a 1 2 running -1 -\n", start + "process a -1 2 running 0 -\n",
        start + "process a 1 2 walking 0 -\n", start + "process a 1 2 dead 0 - more\n",
        start + "process  a 1 2 dead 0 -\n", start + "process a 1 2 dead 0 h:01\n", start + "\n"}) {
    EXPECT_EQ(parse_cluster_state(text).status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(ClusterStateTest, SaysThatThereIsNoSuchCluster) {
  MemoryFileSystem files;
  const auto directory = ClusterDirectory::of("/state", "nobody");
  ASSERT_TRUE(directory.ok());
  const auto read = read_cluster_state(*directory, files);
  EXPECT_EQ(read.status().code(), StatusCode::kNotFound);
  EXPECT_NE(read.status().message().find("'nobody'"), std::string::npos);
}

TEST(ClusterStateTest, NamesAFileThatIsDamagedAndWhatToDo) {
  MemoryFileSystem files;
  const auto directory = ClusterDirectory::of("/state", "test");
  files.put("/state/test/state", "freshet-cluster 1\nboot b\n" + std::string(5000, 'x'));
  const auto read = read_cluster_state(*directory, files);
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(read.status().message().find("/state/test/state is damaged: "), 0u);
  EXPECT_NE(read.status().message().find("/state/test can be removed"), std::string::npos);
  EXPECT_LT(read.status().message().size(), 400u);
}

TEST(ClusterDirectoryTest, IsNamedByOptionsWhereItIsNotTheUsualOne) {
  const auto usual = default_state_directory();
  ASSERT_TRUE(usual.ok());
  const auto options = [](const std::string& base, const std::string& name) {
    return options_for(*ClusterDirectory::of(base, name), "--cluster");
  };
  EXPECT_EQ(options(*usual, "default"), "");
  EXPECT_EQ(options(*usual, "two"), " --cluster two");
  EXPECT_EQ(options("/state", "default"), " --state-dir /state");
  EXPECT_EQ(options("/my state's", "two"), " --cluster two --state-dir '/my state'\\''s'");
}

TEST(ClusterDirectoryTest, RefusesNamesThatAreNoFileNames) {
  for (const std::string name : {"", ".", "..", ".hidden", "a/b", "a b", "a\nb"}) {
    EXPECT_EQ(ClusterDirectory::of("/state", name).status().code(), StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_FALSE(ClusterDirectory::of("/state", std::string(65, 'a')).ok());
  EXPECT_TRUE(ClusterDirectory::of("/state", "a.b-c_D9").ok());
}

}  // namespace
}  // namespace freshet
