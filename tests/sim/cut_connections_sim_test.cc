#include <gtest/gtest.h>

#include <map>
#include <string>

#include "network/frame.h"
#include "shuffle/data_messages.h"
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

/// What happened to connections that were cut, over all offsets; of the last three in how many runs
/// it had happened before the cut.
struct Tally {
  uint64_t runs = 0;
  uint64_t restarted = 0;
  uint64_t with_backlog = 0;
  uint64_t with_floating_credit = 0;
  uint64_t with_spilling = 0;
};

/// What two TaskManagers say to each other until it is cut.
class DataTraffic {
 public:
  void see(const Address& near, const Address& far, std::string_view bytes) {
    Line& line = lines_[std::minmax(near, far)];
    FrameReader& reader = near < far ? line.from_first : line.from_second;
    EXPECT_TRUE(reader
                    .on_bytes(bytes,
                              [&](const FrameHeader& header, std::string_view payload) {
                                count(header, payload, &line);
                                return Status();
                              })
                    .ok());
  }

  bool had_backlog() const { return backlog_; }
  bool had_floating_credit() const { return floating_credit_; }

 private:
  using ChannelId = std::pair<uint32_t, uint32_t>;
  struct Line {
    FrameReader from_first{FrameOpening::kAny};
    FrameReader from_second{FrameOpening::kAny};
    std::map<ChannelId, int64_t> used;  // Credit, less what came back.
  };

  void count(const FrameHeader& header, std::string_view payload, Line* line) {
    backlog_ = backlog_ || header.kind == FrameKind::kBacklog;
    line->used[{header.attachment, header.producer}] +=
        header.block_class * int64_t{kFrameCreditUnitBytes};
    if (header.kind != FrameKind::kCredit) return;
    const auto credits = decode_credit(payload);
    ASSERT_TRUE(credits.ok());
    for (const CreditReturn& credit : *credits) {
      int64_t& used = line->used[{credit.attachment, credit.producer}];
      used -= credit.bytes;
      floating_credit_ = floating_credit_ || used < 0;  // More than a channel's own.
    }
  }

  std::map<std::pair<Address, Address>, Line> lines_;
  bool backlog_ = false;
  bool floating_credit_ = false;
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
  SimNetwork& network = run.world().network();
  network.cut_after(one, other, bytes);
  DataTraffic traffic;
  bool spilled = false;
  network.watch([&](SimProcessId from_id, SimProcessId to_id, const Address& near,
                    const Address& far, std::string_view sent) {
    if (!network.cut_is_due(one, other)) return;
    if (std::minmax(from_id, to_id) != std::minmax(one, other)) return;
    traffic.see(near, far, sent);
    spilled = spilled || run.world().log().count("output_spilled") > 0;
  });
  run.expect_exactly_once();
  network.watch(nullptr);
  EXPECT_TRUE(run.world().queue().run_until([&] { return cluster.segment_bytes_in_use() == 0; },
                                            kSettleLimit))
      << cluster.segment_bytes_in_use() << " bytes of segments are not free\n"
      << run.last_lines();
  EXPECT_LE(cluster.restarts(), 1u) << "one loss is one failure";
  const bool was_cut = !network.cut_is_due(one, other);
  EXPECT_TRUE(was_cut || cluster.restarts() == 0);
  ++tally.runs;
  tally.restarted += cluster.restarts();
  tally.with_backlog += traffic.had_backlog();
  tally.with_floating_credit += traffic.had_floating_credit();
  tally.with_spilling += spilled;
  return was_cut;
}

class CutConnectionsSimTest : public testing::TestWithParam<size_t> {
 protected:
  /// Every `step` bytes to the end of what is sent.
  static Tally cut_everywhere(const SimJob& job, uint64_t step) {
    Tally tally;
    uint64_t offset = 0;
    while (run_cut(job, GetParam(), offset, tally) && !HasFailure()) offset += step * kSparse;
    EXPECT_GT(offset, kLeastBytes) << "the job sends too little";
    const uint64_t cut = tally.runs - 1;  // Not the last one: so many bytes are never sent.
    EXPECT_GE(tally.restarted * 10, cut * 9) << "cuts did not meet the job";
    return tally;
  }
};

TEST_P(CutConnectionsSimTest, AWordCountIsExactWhereverItsConnectionBreaks) {
  cut_everywhere(word_count_job(), 1);
}

TEST_P(CutConnectionsSimTest, ALedgerIsExactWhereverItsConnectionBreaks) {
  cut_everywhere(ledger_job(), 17);
}

TEST_P(CutConnectionsSimTest, BurstsAreExactWhereverTheirConnectionBreaks) {
  const Tally tally = cut_everywhere(burst_job(), 4999);
  EXPECT_GE(tally.with_backlog * 2, tally.runs);
  EXPECT_GE(tally.with_floating_credit * 2, tally.runs);
  EXPECT_GE(tally.with_spilling * 2, tally.runs);
}

INSTANTIATE_TEST_SUITE_P(From, CutConnectionsSimTest, testing::Values(0u, 1u));

}  // namespace
}  // namespace freshet::sim
