#include "runtime/chaos/record_counts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace freshet::chaos {
namespace {

TEST(RecordCountsTest, CountsEachRecordOnBothSidesWhileItGrows) {
  RecordCounts counts;
  EXPECT_EQ(counts.find(hash_128("0")), nullptr);
  for (int i = 0; i < 10'000; i++) {
    const std::string text = std::to_string(i % 4'000);
    counts.at(hash_128(text), 7).expected++;
    if (i % 3 == 0) counts.at(hash_128(text), 7).actual++;
  }
  EXPECT_EQ(counts.size(), 4'000u);
  uint64_t expected = 0, actual = 0;
  counts.for_each([&](const RecordCounts::Entry& entry) {
    EXPECT_EQ(entry.id, 7u);
    expected += entry.expected;
    actual += entry.actual;
  });
  EXPECT_EQ(expected, 10'000u);
  EXPECT_EQ(actual, 3'334u);
  EXPECT_EQ(counts.find(hash_128("1"))->expected, 3u);
  EXPECT_EQ(counts.find(hash_128("4000")), nullptr);
}

TEST(RecordCountsTest, KeepsWhatIsRetained) {
  RecordCounts counts;
  for (int i = 0; i < 100; i++) counts.at(hash_128(std::to_string(i)), i).actual = 1;
  counts.retain([](const RecordCounts::Entry& entry) { return entry.id % 2 == 0; });
  EXPECT_EQ(counts.size(), 50u);
  EXPECT_NE(counts.find(hash_128("8")), nullptr);
  EXPECT_EQ(counts.find(hash_128("9")), nullptr);
  counts.clear();
  EXPECT_EQ(counts.size(), 0u);
  EXPECT_EQ(counts.find(hash_128("8")), nullptr);
}

TEST(KeyPartTest, PartsFollowEachOtherAndCoverAllKeysOnce) {
  // Halved once at each part, three bits at most.
  std::map<uint64_t, int> had;
  for (std::optional<KeyPart> part = KeyPart{}; part; part = part->next()) {
    if (part->bits < 3) part = part->first_half();
    for (uint64_t key = 0; key < 16; key++) had[key] += part->has(key << 60);
  }
  ASSERT_EQ(had.size(), 16u);
  for (const auto& [key, times] : had) EXPECT_EQ(times, 1) << key;
}

TEST(KeyPartTest, ASingleKeyHasNoHalves) {
  EXPECT_FALSE((KeyPart{5, 64}.first_half()));
  EXPECT_TRUE((KeyPart{5, 64}.has(5)));
  EXPECT_FALSE((KeyPart{~0ull, 64}.next()));
}

}  // namespace
}  // namespace freshet::chaos
