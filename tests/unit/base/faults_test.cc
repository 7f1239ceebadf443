#include "runtime/base/faults.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace freshet {
namespace {

TEST(FaultsTest, MarksAreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const FaultMark& mark : fault_marks()) {
    EXPECT_TRUE(names.insert(mark.name).second) << mark.name;
    EXPECT_FALSE(mark.meaning.empty());
    EXPECT_EQ(find_fault_mark(mark.name), &mark);
  }
}

TEST(FaultsTest, HaveNoMarkThatNobodyKnows) {
  EXPECT_EQ(find_fault_mark("deploy.after_lunch"), nullptr);
}

}  // namespace
}  // namespace freshet
