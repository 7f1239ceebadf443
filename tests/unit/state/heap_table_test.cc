#include "state/heap_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/random.h"

namespace freshet {
namespace {

template <class K>
std::string encoded(const K& key) {
  Encoder encoder;
  Codec<K>::encode(key, encoder);
  return std::string(encoder.bytes());
}

/// Random insertions and removals, compared with an ordered map over serialised keys.
template <class K, class MakeKey>
void compare_with_model(MakeKey make_key) {
  const auto random = make_seeded_random(11);
  HeapTable<K, int64_t> table;
  std::map<std::string, int64_t> model;
  for (int i = 0; i < 20'000; i++) {
    const K key = make_key(*random);
    const std::string bytes = encoded(key);
    if (random->one_in(4)) {
      EXPECT_EQ(table.erase(key), model.erase(bytes) == 1);
    } else {
      const auto [value, inserted] = table.find_or_insert(key, int64_t{i});
      EXPECT_EQ(inserted, !model.contains(bytes));
      model.emplace(bytes, i);
      *value += 1;
      model[bytes] += 1;
    }
    const int64_t* found = table.find(key);
    EXPECT_EQ(found != nullptr, model.contains(bytes));
    if (found != nullptr) {
      EXPECT_EQ(*found, model[bytes]);
    }
  }
  ASSERT_EQ(table.size(), model.size());
  const KeyOrder order = table.ordered_keys();
  ASSERT_EQ(order.size(), model.size());
  size_t at = 0;
  for (const auto& [bytes, value] : model) EXPECT_EQ(order[at++], bytes);
}

TEST(HeapTableTest, BehavesAsAMapOverSerialisedKeys) {
  compare_with_model<int64_t>([](Random& r) { return static_cast<int64_t>(r.below(500)) - 250; });
  compare_with_model<std::string>(
      [](Random& r) { return std::string(r.below(40), static_cast<char>('a' + r.below(20))); });
  compare_with_model<std::pair<std::string, int32_t>>([](Random& r) {
    return std::pair(std::string(r.below(200), 'x'), static_cast<int32_t>(r.below(5)));
  });
  compare_with_model<bool>([](Random& r) { return r.one_in(2); });
}

struct Named {
  int64_t sum = 0;
  std::string name;
};

TEST(HeapTableTest, FindsKeysWithinValues) {
  const auto random = make_seeded_random(5);
  HeapTable<std::string, Named, KeyInsideValue<std::string, Named>> table({&Named::name});
  std::map<std::string, int64_t> model;
  for (int i = 0; i < 20'000; i++) {
    const std::string key(random->below(40), static_cast<char>('a' + random->below(20)));
    if (random->one_in(4)) {
      EXPECT_EQ(table.erase(key), model.erase(encoded(key)) == 1);
      continue;
    }
    const auto [value, inserted] = table.find_or_insert(key, Named{0, key});
    EXPECT_EQ(value->name, key);
    value->sum += i;
    EXPECT_EQ(model[encoded(key)] += i, value->sum);
  }
  ASSERT_EQ(table.size(), model.size());
  const KeyOrder order = table.ordered_keys();
  size_t at = 0;
  for (const auto& [bytes, value] : model) EXPECT_EQ(order[at++], bytes);
}

TEST(HeapTableTest, FindsKeysWithAndWithoutHints) {
  HeapTable<std::string, int> table;
  const auto add = [&](const std::string& key) {
    const uint64_t hash = table.hash(key);
    table.prefetch_index(hash);
    return table.find_or_insert(key, hash, table.prefetch_row(hash), 1);
  };
  for (int i = 0; i < 3000; i++) EXPECT_TRUE(add("key-" + std::to_string(i)).second);
  for (int i = 0; i < 3000; i++) EXPECT_FALSE(add("key-" + std::to_string(i)).second);
  // A hint that leads elsewhere, as when two keys have the same tag.
  const auto elsewhere = table.prefetch_row(table.hash("key-1"));
  const std::string key = "key-2";
  EXPECT_EQ(table.find_or_insert(key, table.hash(key), elsewhere, 7).first, table.find(key));
  const std::string fresh = "fresh";
  EXPECT_TRUE(table.find_or_insert(fresh, table.hash(fresh), elsewhere, 7).second);
  EXPECT_EQ(*table.find(fresh), 7);
}

TEST(HeapTableTest, TellsKeysApartByTheirBytesAndNotByEquality) {
  HeapTable<double, int> table;
  table.find_or_insert(0.0, 1);
  table.find_or_insert(-0.0, 2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  table.find_or_insert(nan, 3);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(*table.find(-0.0), 2);
  EXPECT_EQ(*table.find(nan), 3);
}

TEST(HeapTableTest, IteratesInTheSameOrderWhateverTheHistory) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; i++) keys.push_back("key-" + std::to_string(i * 7919 % 1000));
  HeapTable<std::string, int> one, other;
  for (const auto& key : keys) one.find_or_insert(key, 0);
  std::reverse(keys.begin(), keys.end());
  for (const auto& key : keys) other.find_or_insert("gone-" + key, 0);
  for (const auto& key : keys) other.find_or_insert(key, 0);
  for (const auto& key : keys) other.erase("gone-" + key);
  const KeyOrder a = one.ordered_keys(), b = other.ordered_keys();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) EXPECT_EQ(a[i], b[i]);
}

}  // namespace
}  // namespace freshet
