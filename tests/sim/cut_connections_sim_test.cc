#include <gtest/gtest.h>

#include <string>

#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSparse = 23;  // Sanitizers take ten times as long.
#else
constexpr uint64_t kSparse = 1;
#endif
constexpr uint64_t kLeastBytes = 600;  // Greetings, attachments, some frames with their headers.
constexpr Duration kSettleLimit = 1min;

/// What happened to connections that were cut, over all offsets.
struct Tally {
  uint64_t runs = 0;
  uint64_t restarted = 0;
};

/// Runs the job on two TaskManagers and breaks the data connection between them after exactly
/// `bytes` from one to the other. False when so many were never sent.
bool run_cut(const SimJob& job, size_t from, uint64_t bytes, Tally& tally) {
  SCOPED_TRACE(job.name + ", TaskManager " + std::to_string(from) + ", cut after " +
               std::to_string(bytes) + " bytes");
  SimRun run(job, {.seed = 7 + bytes % 5,
                   .slots = 2,
                   .recorded = false,
                   .configuration = patient_configuration()});
  SimCluster& cluster = run.cluster();
  EXPECT_TRUE(cluster.run_until_ready(1min)) << run.last_lines();
  const SimProcessId one = cluster.task_managers()[from]->id();
  const SimProcessId other = cluster.task_managers()[1 - from]->id();
  run.world().network().cut_after(one, other, bytes);
  run.expect_exactly_once();
  EXPECT_TRUE(run.world().queue().run_until([&] { return cluster.segment_bytes_in_use() == 0; },
                                            kSettleLimit))
      << cluster.segment_bytes_in_use() << " bytes of segments are not free\n"
      << run.last_lines();
  EXPECT_LE(cluster.restarts(), 1u) << "one loss is one failure";
  const bool was_cut = !run.world().network().cut_is_due(one, other);
  EXPECT_TRUE(was_cut || cluster.restarts() == 0);
  ++tally.runs;
  tally.restarted += cluster.restarts();
  return was_cut;
}

class CutConnectionsSimTest : public testing::TestWithParam<size_t> {
 protected:
  /// Every `step` bytes to the end of what is sent.
  static void cut_everywhere(const SimJob& job, uint64_t step) {
    Tally tally;
    uint64_t offset = 0;
    while (run_cut(job, GetParam(), offset, tally) && !HasFailure()) offset += step * kSparse;
    EXPECT_GT(offset, kLeastBytes) << "the job sends too little";
    EXPECT_GE(tally.restarted * 10, tally.runs * 9) << "cuts did not meet the job";
  }
};

TEST_P(CutConnectionsSimTest, AWordCountIsExactWhereverItsConnectionBreaks) {
  cut_everywhere(word_count_job(), 1);
}

TEST_P(CutConnectionsSimTest, ALedgerIsExactWhereverItsConnectionBreaks) {
  cut_everywhere(ledger_job(), 17);
}

INSTANTIATE_TEST_SUITE_P(From, CutConnectionsSimTest, testing::Values(0u, 1u));

}  // namespace
}  // namespace freshet::sim
