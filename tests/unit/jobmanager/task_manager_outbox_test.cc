#include "jobmanager/task_manager_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/base/manual_executor.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TaskManagerOutboxTest : public testing::Test {
 protected:
  void make_and_send(const std::string& message) {
    outbox_->make_and_send([message] { return message; });
  }

  ManualClock clock_;
  ManualExecutor main_executor_{clock_};
  ManualExecutor elsewhere_{clock_};
  Mailbox main_{main_executor_};
  std::vector<std::string> sent_;
  std::shared_ptr<TaskManagerOutbox> outbox_ = std::make_shared<TaskManagerOutbox>(
      main_, elsewhere_, [this](std::string message) { sent_.push_back(std::move(message)); });
};

TEST_F(TaskManagerOutboxTest, SendsAtOnceWhenNothingIsBeingMade) {
  outbox_->send("cancel");
  EXPECT_THAT(sent_, ElementsAre("cancel"));
}

TEST_F(TaskManagerOutboxTest, NothingOvertakesWhatIsBeingMade) {
  make_and_send("deploy 0");
  outbox_->send("cancel 0");
  make_and_send("deploy 1");
  outbox_->send("cancel 1");
  EXPECT_THAT(sent_, IsEmpty());
  elsewhere_.run_ready();
  EXPECT_THAT(sent_, IsEmpty());  // Only its own thread sends.
  main_executor_.run_ready();
  EXPECT_THAT(sent_, ElementsAre("deploy 0", "cancel 0", "deploy 1", "cancel 1"));
  outbox_->send("finish");
  EXPECT_EQ(sent_.back(), "finish");
}

TEST_F(TaskManagerOutboxTest, SendsNothingWhenItsTaskManagerIsGone) {
  make_and_send("deploy");
  elsewhere_.run_ready();
  outbox_.reset();
  main_executor_.run_ready();
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace freshet
