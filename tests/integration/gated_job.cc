#include "tests/integration/gated_job.h"

#include <gtest/gtest.h>

namespace freshet::testing {

namespace {
constexpr uint64_t kWords = 10'000;
constexpr uint64_t kDifferentWords = 100;  // What the job makes up.
}  // namespace

std::vector<std::string> gated_count(const std::string& gate, const std::string& output,
                                     const std::string& parallelism) {
  return {test_job("gated_count"), "-p",     parallelism, "--",       "--words",
          std::to_string(kWords),  "--gate", gate,        "--output", output};
}

GatedJob::GatedJob(const TestCluster& cluster, const std::string& directory,
                   std::vector<std::string> settings, const std::string& parallelism)
    : cluster_(cluster),
      gate_(directory + "/gate"),
      output_(directory + "/counts"),
      run_(cluster.command("run", [&] {
        const auto job = gated_count(gate_, output_, parallelism);
        settings.insert(settings.end(), job.begin(), job.end());
        return settings;
      }())) {}

bool GatedJob::wait_until_in_the_middle(uint32_t restarts) {
  return wait_until(
      [&] {
        for (const JobLine& job : cluster_.jobs()) {
          if (job.name == "gated_count" && job.state == "RUNNING" && job.restarts == restarts &&
              job.records == kWords / 2)
            return true;
        }
        return false;
      },
      20s);
}

void GatedJob::open_gate() { write_file(gate_, ""); }

void GatedJob::expect_exact_result() const {
  WordCounts expected;
  for (uint64_t word = 0; word < kDifferentWords; word++)
    expected["w" + std::to_string(word)] = kWords / kDifferentWords;
  EXPECT_EQ(read_word_counts(output_), expected);
}

void GatedJob::expect_nothing_visible() const {
  const auto left = make_local_file_system()->list(output_);
  for (const FileInfo& entry : left.ok() ? *left : std::vector<FileInfo>())
    EXPECT_NE(entry.path.find("/.attempt-"), std::string::npos) << entry.path << " is visible";
}

}  // namespace freshet::testing
