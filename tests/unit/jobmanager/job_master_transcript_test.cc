#include <gtest/gtest.h>

#include <cstring>

#include "runtime/base/file_system.h"
#include "tests/unit/jobmanager/job_script.h"

namespace freshet {
namespace {

bool g_rewrite = false;

/// Runs the lines of a transcript that begin with `> ` and writes what each of them gave below it.
std::string replay(const std::string& transcript) {
  const bool batch = transcript.starts_with("# Batch");
  JobScript script(batch ? two_stages() : two_vertices());
  std::istringstream lines(transcript);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) result += line + "\n";
    if (!line.starts_with("> ")) continue;
    result += line + "\n";
    for (const std::string& text : script.run(line.substr(2))) result += "    " + text + "\n";
  }
  return result;
}

class JobMasterTranscriptTest : public testing::TestWithParam<const char*> {};

TEST_P(JobMasterTranscriptTest, SaysTheSameAsBefore) {
  const auto files = make_local_file_system();
  const std::string path = std::string(FRESHET_TEST_DATA) + "/" + GetParam() + ".txt";
  const auto recorded = files->read_all(path);
  ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
  const std::string now = replay(*recorded);
  EXPECT_EQ(now.find("    ! "), std::string::npos) << now;
  if (g_rewrite) {
    ASSERT_TRUE(files->write_atomically(path, now).ok());
  } else {
    EXPECT_EQ(now, *recorded) << "run jobmanager_test --rewrite and review the difference";
  }
}

INSTANTIATE_TEST_SUITE_P(Transcripts, JobMasterTranscriptTest,
                         testing::Values("crashes", "finishes", "task_manager_lost",
                                         "lost_while_committing", "commit_not_answered",
                                         "batch_on_one_slot", "batch_output_lost",
                                         "batch_output_made_again"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--rewrite") == 0) freshet::g_rewrite = true;
  }
  return RUN_ALL_TESTS();
}
