#include <gtest/gtest.h>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

std::vector<std::string> word_count(const std::vector<std::string>& files,
                                    const std::string& output) {
  std::vector<std::string> arguments = {
      job_module("wordcount"), "-p", "4", "--", "--output", output, "--input"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  return arguments;
}

/// Text that the machine has, and every odd thing that a file can be.
std::vector<std::string> real_and_odd_files(const std::string& directory) {
  std::vector<std::string> files = license_files();
  EXPECT_GE(files.size(), 5u);
  for (std::string& odd : write_odd_files(directory)) files.push_back(std::move(odd));
  return files;
}

void expect_exact_counts(const std::string& output, const std::vector<std::string>& files) {
  const WordCounts counts = read_word_counts(output);
  EXPECT_EQ(counts, count_with_coreutils(files));
  EXPECT_EQ(counts, count_words(files));
}

TEST(WordCountTest, CountsRealTextOnAClusterExactly) {
  const TemporaryDirectory directory;
  const auto files = real_and_odd_files(directory.path());
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome outcome = cluster.run(word_count(files, directory / "counts"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_NE(outcome.output.find("Job has been submitted with JobID "), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.errors.find("FINISHED after "), std::string::npos) << outcome.errors;
  expect_exact_counts(directory / "counts", files);
}

TEST(WordCountTest, CountsExactlyWhenTaskManagersAreKilledInTheMiddleAndComeBack) {
  const TemporaryDirectory directory;
  const auto files = real_and_odd_files(directory.path());
  TestCluster::Options options;
  // Each TaskManager is killed at an element in its middle, once: the one that the supervisor
  // starts in its place has no faults.
  options.arguments = {"--allow-faults", "-D", "test.faults=task.after_element:5000:kill"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome outcome = cluster.run(word_count(files, directory / "counts"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const auto jobs = cluster.jobs();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_GE(jobs[0].restarts, 1u);
  uint32_t killed = 0;
  for (const std::string name : {"taskmanager-1", "taskmanager-2"}) {
    EXPECT_TRUE(cluster.alive(name));
    killed += cluster.process(name).restarts;
  }
  EXPECT_GE(killed, 1u);
  EXPECT_NE(cluster.log("supervisor").find("signal 9"), std::string::npos)
      << cluster.log("supervisor");
  expect_exact_counts(directory / "counts", files);
}

TEST(WordCountTest, CountsTheSameInOneProcess) {
  const TemporaryDirectory directory;
  const auto files = real_and_odd_files(directory.path());
  std::vector<std::string> arguments = word_count(files, directory / "counts");
  arguments.insert(arguments.begin(), {"run", "--local"});
  const Outcome outcome = run_freshet(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  expect_exact_counts(directory / "counts", files);
}

TEST(WordCountTest, ReadsOneLargeFileInSplitsEveryLineOnce) {
  const TemporaryDirectory directory;
  write_words(directory / "words", 20000, 7);
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  std::vector<std::string> arguments = word_count({directory / "words"}, directory / "counts");
  arguments.insert(arguments.begin(), {"-D", "source.file.split-size=64 kb"});
  const Outcome outcome = cluster.run(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_word_counts(directory / "counts"), count_words({directory / "words"}));
}

TEST(WordCountTest, TakesRelativePathsFromTheClientsDirectory) {
  const TemporaryDirectory directory;
  write_file(directory / "text", "one two two\n");
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome outcome = run_program(
      "/bin/sh", {"-c", "cd " + directory.path() + " && exec " FRESHET_BINARY " run --state-dir " +
                            cluster.state_directory() + " --cluster test " +
                            job_module("wordcount") + " -- --input text --output counts"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_word_counts(directory / "counts"), (WordCounts{{"one", 1}, {"two", 2}}));
}

TEST(WordCountTest, PrintsToTheTerminalInOneProcess) {
  const TemporaryDirectory directory;
  write_file(directory / "text", "one two two\n");
  const Outcome outcome =
      run_freshet({"run", "--local", job_module("wordcount"), "--", "--input", directory / "text"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_NE(outcome.output.find("two 2\n"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("one 1\n"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace freshet::testing
