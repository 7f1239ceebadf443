#include <gtest/gtest.h>

#include <sstream>

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

/// `word count` lines of the pipeline that the documentation compares with.
WordCounts count_with_coreutils(const std::vector<std::string>& files) {
  std::string script = "for f in";
  for (const std::string& file : files) script += " '" + file + "'";
  script +=
      "; do LC_ALL=C tr -cs 'A-Za-z0-9' '\\n' < \"$f\"; echo; done | LC_ALL=C tr A-Z a-z | grep . "
      "| LC_ALL=C sort | "
      "uniq -c";
  const Outcome outcome = run_program("/bin/sh", {"-c", script});
  WordCounts counts;
  std::istringstream lines(outcome.output);
  uint64_t count = 0;
  for (std::string word; lines >> count >> word;) counts[word] = count;
  return counts;
}

TEST(WordCountTest, CountsRealTextOnAClusterExactly) {
  const TemporaryDirectory directory;
  const auto files = license_files();
  ASSERT_GE(files.size(), 5u);
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome outcome = cluster.run(word_count(files, directory / "counts"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_NE(outcome.output.find("Job has been submitted with JobID "), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.errors.find("FINISHED after "), std::string::npos) << outcome.errors;
  const WordCounts counts = read_word_counts(directory / "counts");
  EXPECT_EQ(counts, count_words(files));
  EXPECT_EQ(counts, count_with_coreutils(files));
}

TEST(WordCountTest, CountsTheSameInOneProcess) {
  const TemporaryDirectory directory;
  const auto files = license_files();
  std::vector<std::string> arguments = word_count(files, directory / "counts");
  arguments.insert(arguments.begin(), {"run", "--local"});
  const Outcome outcome = run_freshet(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_word_counts(directory / "counts"), count_words(files));
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
