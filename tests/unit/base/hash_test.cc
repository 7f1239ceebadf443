#include "runtime/base/hash.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

// Stored state and routing depend on these values: they never change.
TEST(HashTest, IsTheSameInEveryVersion) {
  EXPECT_EQ(hash_bytes(""), 0x2D06800538D394C2ull);
  EXPECT_EQ(hash_bytes("freshet"), hash_bytes(std::string("fre") + "shet"));
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
}

TEST(HashTest, CombineDependsOnOrder) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
  EXPECT_NE(hash_combine(0, 0), hash_combine(0, 1));
}

}  // namespace
}  // namespace freshet
