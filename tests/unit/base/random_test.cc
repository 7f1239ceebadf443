#include "runtime/base/random.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(RandomTest, SameSeedSameNumbers) {
  auto a = make_seeded_random(7);
  auto b = make_seeded_random(7);
  auto c = make_seeded_random(8);
  for (int i = 0; i < 10; i++) {
    const uint64_t value = a->next();
    EXPECT_EQ(value, b->next());
    EXPECT_NE(value, c->next());
  }
}

TEST(RandomTest, OfTheSystemIsDifferentEachTime) {
  auto a = make_system_random();
  const uint64_t first = a->next();
  EXPECT_NE(first, a->next());
  EXPECT_NE(first, make_system_random()->next());
}

TEST(RandomTest, StaysBelowItsBound) {
  auto random = make_seeded_random(3);
  bool seen[7] = {};
  for (int i = 0; i < 1000; i++) seen[random->below(7)] = true;
  for (const bool s : seen) EXPECT_TRUE(s);
  for (int i = 0; i < 1000; i++) {
    const double real = random->real();
    EXPECT_GE(real, 0.0);
    EXPECT_LT(real, 1.0);
  }
}

}  // namespace
}  // namespace freshet
