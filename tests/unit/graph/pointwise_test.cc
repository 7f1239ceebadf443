#include <gtest/gtest.h>

#include "runtime/graph/job_graph.h"

namespace freshet {
namespace {

TEST(PointwiseTest, TilesExactlyForAllSmallSizes) {
  for (uint32_t s = 1; s < 40; s++) {
    for (uint32_t t = 1; t < 40; t++) {
      uint32_t next = 0;
      for (uint32_t c = 0; c < t; c++) {
        const IndexRange range = producers_of_consumer(Partitioning::kRescale, c, s, t);
        ASSERT_GT(range.size(), 0u);
        ASSERT_LE(range.end, s);
        if (s >= t) {
          ASSERT_EQ(range.begin, next);
          next = range.end;
        }
        for (uint32_t p = 0; p < s; p++) {
          const IndexRange back = consumers_of_producer(Partitioning::kRescale, p, s, t);
          const bool reads = p >= range.begin && p < range.end;
          const bool is_read = c >= back.begin && c < back.end;
          ASSERT_EQ(reads, is_read) << s << " to " << t << ": " << p << " and " << c;
        }
      }
      if (s >= t) {
        ASSERT_EQ(next, s);
      }
    }
  }
}

TEST(PointwiseTest, IsTheIdentityWhenForward) {
  for (uint32_t i = 0; i < 100; i++) {
    EXPECT_EQ(producers_of_consumer(Partitioning::kForward, i, 100, 100), (IndexRange{i, i + 1}));
    EXPECT_EQ(consumers_of_producer(Partitioning::kForward, i, 100, 100), (IndexRange{i, i + 1}));
  }
}

TEST(PointwiseTest, DoesNotOverflowAtTheLargestParallelism) {
  const uint32_t n = 1u << 20;
  EXPECT_EQ(producers_of_consumer(Partitioning::kRescale, n - 2, n, n - 1).end, n);
  EXPECT_EQ(consumers_of_producer(Partitioning::kRescale, n - 2, n - 1, n).end, n);
}

/// Where the product of the two no longer fits in 32 bits.
TEST(PointwiseTest, IsTheIdentityForEqualSidesHoweverLarge) {
  for (const uint32_t n : {46'341u, 50'000u, 65'536u}) {
    for (uint32_t i = 0; i < n; i++) {
      ASSERT_EQ(producers_of_consumer(Partitioning::kRescale, i, n, n), (IndexRange{i, i + 1}));
      ASSERT_EQ(consumers_of_producer(Partitioning::kRescale, i, n, n), (IndexRange{i, i + 1}));
    }
  }
}

TEST(PointwiseTest, MatchesKnownExamples) {
  EXPECT_EQ(consumers_of_producer(Partitioning::kRescale, 1, 3, 7), (IndexRange{3, 5}));
  EXPECT_EQ(producers_of_consumer(Partitioning::kRescale, 2, 7, 3), (IndexRange{4, 7}));
}

TEST(PointwiseTest, GivesEverybodyToEverybodyWhenAllToAll) {
  EXPECT_EQ(producers_of_consumer(Partitioning::kHash, 3, 5, 9), (IndexRange{0, 5}));
  EXPECT_EQ(consumers_of_producer(Partitioning::kBroadcast, 3, 5, 9), (IndexRange{0, 9}));
}

}  // namespace
}  // namespace freshet
