#include "shuffle/producer_set.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

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

std::vector<ProducerSpan> random_spans(Random& random) {
  std::vector<ProducerSpan> spans;
  for (uint32_t at = 0; at < 60;) {
    const auto begin = at + static_cast<uint32_t>(random.below(4));
    const auto end = begin + 1 + static_cast<uint32_t>(random.below(6));
    spans.push_back({begin, end});
    at = end + (random.one_in(3) ? 0 : static_cast<uint32_t>(random.below(9)));
  }
  return spans;
}

std::set<uint32_t> numbers_of(const std::vector<ProducerSpan>& spans) {
  std::set<uint32_t> numbers;
  uint32_t last = 0;
  for (const ProducerSpan& span : spans) {
    EXPECT_GE(span.begin, last);
    EXPECT_LT(span.begin, span.end);
    last = span.end;
    for (uint32_t p = span.begin; p < span.end; ++p) numbers.insert(p);
  }
  return numbers;
}

TEST(ProducerSetTest, ManySpansAtOnceAgreeWithSetsOfNumbers) {
  auto random = make_seeded_random(7);
  for (int round = 0; round < 500; ++round) {
    const std::vector<ProducerSpan> some = random_spans(*random);
    const std::vector<ProducerSpan> others = random_spans(*random);
    const std::set<uint32_t> a = numbers_of(some);
    const std::set<uint32_t> b = numbers_of(others);
    std::set<uint32_t> both, only, either = a;
    for (const uint32_t p : a) (b.contains(p) ? both : only).insert(p);
    either.insert(b.begin(), b.end());
    ASSERT_EQ(numbers_of(common_spans(some, others)), both);
    ASSERT_EQ(numbers_of(spans_without(some, others)), only);
    // In two rises.
    std::vector<ProducerSpan> all = some;
    all.insert(all.end(), others.begin(), others.end());
    ProducerSet set, one_by_one;
    set.add_all(all);
    for (const ProducerSpan& span : all) (void)one_by_one.add(span);
    ASSERT_EQ(set.spans(), one_by_one.spans());
    ASSERT_EQ(set.size(), either.size());
    ASSERT_EQ(numbers_of(set.spans()), either);
    const auto begin = static_cast<uint32_t>(random->below(60));
    const ProducerSpan window{begin, begin + static_cast<uint32_t>(random->below(30))};
    ASSERT_EQ(set.missing_in(window), spans_without({&window, 1}, set.spans()));
    ASSERT_EQ(set.common_with(window), common_spans({&window, 1}, set.spans()));
    const std::vector<ProducerSpan> rest = spans_without(set.spans(), {&window, 1});
    set.remove(window);
    ASSERT_EQ(set.spans(), rest);
    ASSERT_EQ(set.size(), numbers_of(rest).size());
  }
}

}  // namespace
}  // namespace freshet
