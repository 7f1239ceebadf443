#include "state/external_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "state/memory_spill_space.h"

namespace freshet {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

constexpr uint64_t kLeast = SpillSpace::kLeastMemoryBytes;

Entries sort(SpillSpace& space, const Entries& entries, uint64_t* runs = nullptr) {
  ExternalSorter sorter(space);
  for (const auto& [key, value] : entries) EXPECT_TRUE(sorter.add(key, value).ok());
  while (true) {
    const Result<bool> ready = sorter.prepare();
    EXPECT_TRUE(ready.ok());
    if (!ready.ok() || *ready) break;
  }
  Entries sorted;
  while (true) {
    const Result<bool> more = sorter.next();
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) break;
    sorted.emplace_back(sorter.key(), sorter.value());
  }
  if (runs != nullptr) *runs = sorter.spilled_runs();
  return sorted;
}

Entries stable_sorted(Entries entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return entries;
}

std::string random_text(Random& random, size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

TEST(ExternalSorterTest, SortsNothing) {
  MemorySpillSpace space(kLeast);
  EXPECT_TRUE(sort(space, {}).empty());
}

TEST(ExternalSorterTest, KeysAreOrderedByTheirBytesAndEqualOnesStayAsTheyCame) {
  MemorySpillSpace space(kLeast);
  const Entries entries = {{"b", "1"},         {"", "2"},          {std::string("a\0", 2), "3"},
                           {"a", "4"},         {"b", "5"},         {"\x80", "6"},
                           {"aaaaaaaab", "7"}, {"aaaaaaaaa", "8"}, {"a", "9"},
                           {"aaaaaaaa", "x"}};
  EXPECT_EQ(sort(space, entries), stable_sorted(entries));
  EXPECT_EQ(space.files(), 0u);
}

/// Any memory, any sizes of keys and values, with many equal keys or none.
TEST(ExternalSorterTest, EqualsAStableSort) {
  const auto random = make_seeded_random(5);
  for (int round = 0; round < 9; round++) {
    SCOPED_TRACE(round);
    MemorySpillSpace space(kLeast + random->below(1u << 20), round % 3 == 0);
    const uint64_t key_max = 1 + random->below(round % 2 == 0 ? 3 : 40);
    const uint64_t value_max = 1 + random->below(400);
    const uint64_t bytes = random->below(8u << 20);
    Entries entries;
    for (uint64_t used = 0; used < bytes;) {
      entries.emplace_back(random_text(*random, random->below(key_max)),
                           random_text(*random, random->below(value_max)));
      used += entries.back().first.size() + entries.back().second.size() + 24;
    }
    uint64_t runs = 0;
    EXPECT_TRUE(sort(space, entries, &runs) == stable_sorted(entries));
    EXPECT_GE(runs + 1, bytes / space.memory_bytes());
  }
}

/// Three at once with the least memory: several passes, in which equal keys keep their order.
TEST(ExternalSorterTest, MergesMoreRunsThanItCanReadAtOnce) {
  const auto random = make_seeded_random(6);
  MemorySpillSpace space(kLeast, true);
  Entries entries;
  for (int i = 0; i < 100'000; i++)
    entries.emplace_back(std::to_string(random->below(1000)),
                         std::string(80, 'x') + std::to_string(i));
  uint64_t runs = 0;
  EXPECT_TRUE(sort(space, entries, &runs) == stable_sorted(entries));
  EXPECT_GT(runs, 10u);
  EXPECT_GT(space.files(), runs);
}

TEST(ExternalSorterTest, AnEntryMayBeLargerThanTheMemory) {
  MemorySpillSpace space(kLeast);
  Entries entries;
  for (const char key : {'c', 'a', 'b', 'a'})
    entries.emplace_back(std::string(1, key), std::string(3 * kLeast, key));
  entries.insert(entries.begin() + 1, {"b", "small"});
  entries.emplace_back(std::string(2 * kLeast, 'b'), "");
  EXPECT_TRUE(sort(space, entries) == stable_sorted(entries));
}

TEST(ExternalSorterTest, HasEveryKeyOnceWhenItIsAllThereIs) {
  MemorySpillSpace space(kLeast);
  const Entries entries(50'000, {"same", "value of the one key"});
  EXPECT_TRUE(sort(space, entries) == entries);
}

}  // namespace
}  // namespace freshet
