#include "runtime/base/ids.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(JobIdTest, RoundTripsThroughThirtyTwoHexDigits) {
  auto random = make_seeded_random(1);
  for (int i = 0; i < 100; i++) {
    const JobId id = JobId::random(*random);
    EXPECT_EQ(id.to_string().size(), 32u);
    EXPECT_EQ(*JobId::parse(id.to_string()), id);
  }
}

TEST(JobIdTest, RefusesOtherTexts) {
  for (const std::string text :
       {"", "12", "g0000000000000000000000000000000", "0000000000000000000000000000000000"}) {
    EXPECT_EQ(JobId::parse(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(AttemptIdTest, ShowsVertexSubtaskAndAttempt) {
  EXPECT_EQ(to_string(AttemptId{JobId{1, 2}, SubtaskId{VertexId{3}, 4}, 5}), "3/4#5");
}

}  // namespace
}  // namespace freshet
