#include "runtime/base/record_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

using Action = RecordFaults::Action;

std::vector<Action> actions_of(const std::string& script, int records) {
  const auto faults = RecordFaults::parse(script);
  EXPECT_TRUE(faults.ok()) << faults.status().to_string();
  std::vector<Action> actions;
  for (int i = 0; faults.ok() && i < records; i++) actions.push_back((*faults)->next());
  return actions;
}

TEST(RecordFaultsTest, ActsOnTheNthRecordOrOnEachNth) {
  EXPECT_EQ(actions_of("lose:2", 4),
            (std::vector<Action>{Action::kNone, Action::kLose, Action::kNone, Action::kNone}));
  EXPECT_EQ(actions_of("double:every=2", 4),
            (std::vector<Action>{Action::kNone, Action::kDouble, Action::kNone, Action::kDouble}));
}

TEST(RecordFaultsTest, RefusesWhatItDoesNotKnow) {
  for (const char* script : {"", "lose", "lose:", "lose:0", "lose:x", "lose:1x", "drop:1", ":1",
                             "lose:every=", "lose:every=0", "lose:-1"}) {
    const auto faults = RecordFaults::parse(script);
    EXPECT_EQ(faults.status().code(), StatusCode::kInvalidArgument) << script;
    EXPECT_THAT(faults.status().message(), ::testing::HasSubstr("lose:<n>")) << script;
  }
}

TEST(RecordFaultsTest, StandBesideThoseAtMarks) {
  class Marks final : public Faults {
   public:
    explicit Marks(int& passed) : passed_(passed) {}
    void at(std::string_view) override { passed_++; }

   private:
    int& passed_;
  };
  int passed = 0;
  auto both = with_record_faults(std::make_unique<Marks>(passed),
                                 std::make_unique<RecordFaults>(Action::kLose, 1, false));
  both->at("deploy.before_ack");
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(both->records()->next(), Action::kLose);
  both = with_record_faults(nullptr, std::make_unique<RecordFaults>(Action::kLose, 1, false));
  both->at("deploy.before_ack");
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(make_no_faults()->records(), nullptr);
}

}  // namespace
}  // namespace freshet
