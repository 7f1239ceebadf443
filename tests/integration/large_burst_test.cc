#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "runtime/base/hash.h"
#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/bench/process_facts.h"
#include "tests/integration/thread_cluster.h"

namespace freshet::testing {
namespace {

// Stacks, and what malloc() keeps; sanitizers keep far more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kRecords = 1 << 17;
constexpr uint64_t kOtherBytes = uint64_t{2} << 30;
#else
constexpr int64_t kRecords = 1 << 20;
constexpr uint64_t kOtherBytes = 32u << 20;
#endif
constexpr size_t kRecordBytes = 1024;
constexpr int kHashesPerRecord = 20;  // What makes consumers slower than the disk.
constexpr uint64_t kPoolBytes = 16u << 20;
constexpr uint64_t kOverdraftBytes = 1u << 20;

/// What the machine shows of a burst, looked at by its consumers.
struct Burst {
  std::string spill_directory;
  FileSystem* files = nullptr;
  std::atomic<int64_t> taken = 0;
  std::atomic<int64_t> files_most = 0;  // Spill files at once.

  void take(const std::string& record) {
    uint64_t sum = 0;
    for (int i = 0; i < kHashesPerRecord; ++i) sum += hash_bytes(record);
    EXPECT_EQ(sum, kHashesPerRecord * hash_bytes(record));
    // At times, all may have been paid back.
    if (taken.fetch_add(1) % (kRecords / 64) != 0) return;
    const auto found = files->list(spill_directory);
    const auto now = static_cast<int64_t>(found.ok() ? found->size() : 0);
    for (int64_t most = files_most.load(); now > most;) {
      if (files_most.compare_exchange_weak(most, now)) break;
    }
  }
};

uint64_t peak_bytes() { return bench::peak_resident_bytes(::getpid()).value(); }

/// So many tasks emit a gigabyte each, from one element, on two workers.
class LargeBurstTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(LargeBurstTest, TakesTheMemoryOfThePool) {
  const int64_t elements = GetParam();
  Burst burst;
  const auto results = std::make_shared<CollectedResults<int64_t>>();
  const auto module = std::make_shared<InProcessModule>("burst", [&](Environment& env) {
    env.from_source(sequence(1, elements))
        .partition_custom(
            [](int64_t key, uint32_t tasks) { return static_cast<uint32_t>(key % tasks); },
            [](const int64_t& number) { return number; })
        .flat_map([](const int64_t&, Collector<std::string>& out) {
          for (int64_t i = 0; i < kRecords; ++i) out.collect(std::string(kRecordBytes, 'x'));
        })
        .rebalance()
        .map([&burst](const std::string& record) {
          burst.take(record);
          return static_cast<int64_t>(record.size());
        })
        .filter([](const int64_t& size) { return size != kRecordBytes; })
        .sink_to(collect_sink<int64_t>(results));
  });
  ThreadCluster cluster(
      module,
      {.task_managers = {"only"},
       .configuration = {{std::string(config::kNetworkMemory.name), std::to_string(kPoolBytes)},
                         {std::string(config::kOverdraft.name), std::to_string(kOverdraftBytes)}}});
  burst.files = &cluster.files();
  burst.spill_directory = cluster.directory() + "/only/spill";
  const uint64_t before = peak_bytes();
  const JobReport report = cluster.run(submission_of(*module));
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(burst.taken.load(), elements * kRecords);
  EXPECT_EQ(burst.files_most.load(), elements);  // Of each at the same time.
  EXPECT_TRUE(results->values().empty());
  // Each of the subtasks before the last edge has an overdraft of its own.
  EXPECT_LE(peak_bytes() - before, kPoolBytes + 2 * kParallelism * kOverdraftBytes + kOtherBytes);
  EXPECT_TRUE(cluster.nothing_is_spilled());
}

INSTANTIATE_TEST_SUITE_P(Elements, LargeBurstTest, ::testing::Values(1, 4));

}  // namespace
}  // namespace freshet::testing
