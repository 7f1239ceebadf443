#include "runtime/app/make_dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MakeDependenciesTest, ReadsBrokenLines) {
  EXPECT_THAT(parse_make_dependencies("module: /a/j.cc /usr/include/x.h \\\n /a/text/y.h\n"),
              ElementsAre("/a/j.cc", "/usr/include/x.h", "/a/text/y.h"));
}

TEST(MakeDependenciesTest, UndoesEscapes) {
  EXPECT_THAT(parse_make_dependencies("module: /a/two\\ words.cc /a/\\#1.h /a/$$x.h /a\\b.h\n"),
              ElementsAre("/a/two words.cc", "/a/#1.h", "/a/$x.h", "/a\\b.h"));
}

TEST(MakeDependenciesTest, TakesNothingFromWhatIsNoRule) {
  EXPECT_THAT(parse_make_dependencies(""), IsEmpty());
  EXPECT_THAT(parse_make_dependencies("nonsense\n"), IsEmpty());
  EXPECT_THAT(parse_make_dependencies("module: \\\n"), IsEmpty());
}

}  // namespace
}  // namespace freshet
