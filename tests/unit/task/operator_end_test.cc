// When and in whose name operators are destroyed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/running_code.h"
#include "runtime/task/stream_task.h"
#include "tests/unit/task/test_job.h"

namespace freshet {
namespace {

using task_test::FunctionOperator;
using task_test::Harness;
using task_test::one;
using task_test::TestJob;
using ::testing::ElementsAre;
using enum TaskState;

/// Destructors may crash or not return: whose they are is known, and no state was told too early.
TEST(OperatorEndTest, ComesInAStepBeforeTheLastStatesOfTheTaskAndHasTheirNames) {
  for (const TaskState state : {kEndOfData, kCanceled, kFailed}) {
    Harness* world = nullptr;
    std::vector<std::string> destroyed;
    const auto make = [&] {
      FunctionOperator::Functions functions;
      functions.destroyed = [&] {
        ASSERT_NE(running_code(), nullptr);
        EXPECT_EQ(running_code()->attempt, task_test::kAttempt);
        destroyed.push_back(*running_code()->name.load());
        EXPECT_NE(world->states->last().state, state);
      };
      return functions;
    };
    TestJob::Options options = one(make);
    options.operators.push_back(make);
    Harness harness(options);
    world = &harness;
    harness.run();
    if (state == kEndOfData) harness.gate->end();
    if (state == kCanceled) harness.task->request_cancel();
    if (state == kFailed) harness.task->request_failure(ProvokedFailure::kException);
    harness.run();
    EXPECT_EQ(harness.states->last().state, state);
    EXPECT_THAT(destroyed, ElementsAre("operator-0", "operator-1"));
  }
}

TEST(OperatorEndTest, HasTheNameOfTheOperatorAlsoWhenATaskIsDroppedInTheMiddle) {
  std::string destroyed;
  {
    Harness harness(one([&] {
      FunctionOperator::Functions functions;
      functions.destroyed = [&] { destroyed = *running_code()->name.load(); };
      return functions;
    }));
    harness.run();
  }
  EXPECT_EQ(destroyed, "operator-0");
}

}  // namespace
}  // namespace freshet
