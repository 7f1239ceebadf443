#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

/// Writes into the file itself, as `cp` does, so that whoever maps it sees the change.
void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// The file that a job was run from changes while the job runs, in a cluster and in one process.
class ModuleFileTest : public ::testing::TestWithParam<bool> {
 protected:
  std::vector<std::string> command() const {
    std::vector<std::string> arguments = gated_count(gate_, directory_ / "out", "2");
    arguments.front() = module_;
    if (!GetParam()) return cluster_.command("run", arguments);
    arguments.insert(arguments.begin(), {"run", "--local"});
    return arguments;
  }

  const TemporaryDirectory directory_;
  const std::string gate_ = directory_ / "gate";
  const std::string module_ = directory_ / "job.so";
  TestCluster cluster_{TestCluster::Options{.task_managers = 1, .arguments = {}}};
};

TEST_P(ModuleFileTest, MayBeOverwrittenWhileItsJobRuns) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  const std::string good = read_file(test_job("gated_count"));
  for (const std::string& bytes : {std::string(), std::string(good.size(), 'x')}) {
    overwrite(module_, good);
    FreshetProcess run(command());
    ASSERT_TRUE(wait_until([&] { return run.errors().find("RUNNING") != std::string::npos; }, 20s))
        << run.errors();
    overwrite(module_, bytes);
    write_file(gate_, "");
    EXPECT_EQ(run.wait(60s), 0) << run.errors();
    EXPECT_THAT(run.errors(), HasSubstr("FINISHED"));
    EXPECT_EQ(read_lines(directory_ / "out").size(), 100u);
    ASSERT_TRUE(make_local_file_system()->remove_all(directory_ / "out").ok());
    ASSERT_TRUE(make_local_file_system()->remove(gate_).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Places, ModuleFileTest, ::testing::Bool());

}  // namespace
}  // namespace freshet::testing
