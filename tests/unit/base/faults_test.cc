#include "runtime/base/faults.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "runtime/base/log.h"

namespace freshet {
namespace {

TEST(FaultsTest, FiresAtTheNamedPassingOnly) {
  auto faults = make_scripted_faults("deploy.before_ack:2:throw");
  ASSERT_TRUE(faults.ok()) << faults.status().to_string();
  (*faults)->at("deploy.before_ack");
  (*faults)->at("task.before_element");
  EXPECT_THROW((*faults)->at("deploy.before_ack"), std::runtime_error);
  (*faults)->at("deploy.before_ack");
}

TEST(FaultsTest, NamesKnownMarksWhenOneIsUnknown) {
  const Status status = make_scripted_faults("deploy.after_lunch:1:kill").status();
  EXPECT_NE(status.message().find("deploy.before_ack"), std::string::npos) << status.message();
}

TEST(FaultsTest, RefusesWhatIsNoRule) {
  for (const char* script :
       {"x", "deploy.before_ack", "deploy.before_ack:0:kill", "deploy.before_ack:a:kill",
        "deploy.before_ack:1:explode", "deploy.before_ack:1:delay=x"}) {
    EXPECT_FALSE(make_scripted_faults(script).ok()) << script;
  }
}

TEST(FaultsTest, ReportsAtItsEndWhatNeverFired) {
  std::string lines;
  log_to_sink(
      [](void* to, LogLevel, std::string_view line) { *static_cast<std::string*>(to) += line; },
      &lines);
  {
    auto faults = make_scripted_faults("deploy.before_ack:1:throw,task.after_element:3:kill");
    ASSERT_TRUE(faults.ok());
    EXPECT_THROW((*faults)->at("deploy.before_ack"), std::runtime_error);
    (*faults)->at("task.after_element");
  }
  log_to_sink(nullptr, nullptr);
  EXPECT_EQ(lines, "fault_never_fired mark=task.after_element passings=1 wanted=3");
}

TEST(FaultsTest, MarksAreUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const FaultMark& mark : fault_marks()) {
    EXPECT_TRUE(names.insert(mark.name).second) << mark.name;
    EXPECT_FALSE(mark.meaning.empty());
  }
}

}  // namespace
}  // namespace freshet
