#include "shuffle/producer_set.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/base/random.h"

namespace freshet {
namespace {

TEST(ProducerSetTest, JoinsSpansThatTouch) {
  ProducerSet set;
  EXPECT_EQ(set.add({3, 4}), 1u);
  EXPECT_EQ(set.add({5, 7}), 2u);
  EXPECT_EQ(set.add({4, 5}), 1u);
  EXPECT_EQ(set.spans(), (std::vector<ProducerSpan>{{3, 7}}));
  EXPECT_EQ(set.add({0, 10}), 6u);
  EXPECT_EQ(set.spans(), (std::vector<ProducerSpan>{{0, 10}}));
}

TEST(ProducerSetTest, AgreesWithASetOfNumbers) {
  auto random = make_seeded_random(5);
  for (int round = 0; round < 200; ++round) {
    ProducerSet set;
    std::set<uint32_t> model;
    for (int i = 0; i < 12; ++i) {
      const auto begin = static_cast<uint32_t>(random->below(60));
      const auto end = begin + static_cast<uint32_t>(random->below(8));
      const size_t before = model.size();
      for (uint32_t p = begin; p < end; ++p) model.insert(p);
      ASSERT_EQ(set.add({begin, end}), model.size() - before);
      ASSERT_EQ(set.size(), model.size());
    }
    for (uint32_t p = 0; p < 70; ++p) ASSERT_EQ(set.contains(p), model.count(p) == 1);
    std::set<uint32_t> missing;
    for (const ProducerSpan& span : set.missing_in({10, 50})) {
      for (uint32_t p = span.begin; p < span.end; ++p) missing.insert(p);
    }
    for (uint32_t p = 0; p < 70; ++p)
      ASSERT_EQ(missing.count(p) == 1, p >= 10 && p < 50 && model.count(p) == 0);
  }
}

}  // namespace
}  // namespace freshet
