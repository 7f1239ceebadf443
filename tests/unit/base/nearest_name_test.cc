#include "runtime/base/nearest_name.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet {
namespace {

const std::vector<std::string_view> kKnown = {"cluster", "cancel", "status", "parallelism"};

TEST(NearestNameTest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest_name("clutser", kKnown), "cluster");
  EXPECT_EQ(nearest_name("cancl", kKnown), "cancel");
  EXPECT_EQ(nearest_name("parallel", kKnown), "parallelism");  // Its beginning.
  EXPECT_EQ(nearest_name("status", kKnown), "status");
}

TEST(NearestNameTest, GuessesNothingWhenNothingIsNear) {
  for (const std::string& name :
       {std::string("frobnicate"), std::string(""), std::string("x"), std::string(1 << 20, 'c')})
    EXPECT_EQ(nearest_name(name, kKnown), std::nullopt) << name.substr(0, 20);
  EXPECT_EQ(nearest_name("cluster", {}), std::nullopt);
}

}  // namespace
}  // namespace freshet
