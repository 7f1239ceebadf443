#include "runtime/base/status.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return invalid_argument(std::to_string(n) + " is odd");
  return n / 2;
}

Result<int> quarter(int n) {
  ASSIGN_OR_RETURN(const int h, half(n));
  ASSIGN_OR_RETURN(const int q, half(h));
  return q;
}

TEST(StatusTest, GainsContextOnItsWay) {
  EXPECT_EQ(not_found("no job 7").with_context("cancel").to_string(),
            "not_found: cancel: no job 7");
  EXPECT_TRUE(Status().with_context("cancel").ok());
}

TEST(ResultTest, LeavesWithTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
  EXPECT_EQ(quarter(7).status().code(), StatusCode::kInvalidArgument);
}

TEST(ResultTest, HoldsAStringWithoutTakingItForAnError) {
  const Result<std::string> result = std::string("text");
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
}

}  // namespace
}  // namespace freshet
