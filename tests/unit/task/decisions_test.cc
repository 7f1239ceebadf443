#include "runtime/task/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/task/test_job.h"

namespace freshet {
namespace {

using task_test::FeedGate;

std::vector<Decision> read_all(const std::string& bytes) {
  std::vector<Decision> all;
  DecisionLogReader reader(bytes);
  for (; reader.peek(); reader.pop()) all.push_back(*reader.peek());
  EXPECT_TRUE(reader.status().ok()) << reader.status().to_string();
  return all;
}

TEST(MemoryDecisionLogTest, GivesBackWhatWasAppended) {
  const std::vector<Decision> decisions = {
      {DecisionKind::kClock, 0, 0, 17, {}},      {DecisionKind::kElement, 0, 4, 0, {}},
      {DecisionKind::kElement, 0, 4, 0, {}},     {DecisionKind::kElement, 1, 4, 0, {}},
      {DecisionKind::kRandom, 0, 0, ~0ull, {}},  {DecisionKind::kElement, 1, 4, 0, {}},
      {DecisionKind::kPoll, 0, 0, 0, {}},        {DecisionKind::kPoll, 0, 0, 0, {}},
      {DecisionKind::kExternal, 0, 0, 0, "two"}, {DecisionKind::kEndInput, 1, 0, 0, {}},
      {DecisionKind::kFinish, 0, 0, 0, {}},
  };
  MemoryDecisionLog log;
  for (const Decision& decision : decisions) log.append(decision);
  EXPECT_EQ(read_all(log.bytes()), decisions);
  EXPECT_EQ(log.decisions(), decisions.size());
}

TEST(MemoryDecisionLogTest, CountsARunInPlace) {
  MemoryDecisionLog log;
  log.append({DecisionKind::kElement, 2, 3, 0, {}});
  const size_t size = log.bytes().size();
  for (int i = 0; i < 1000; i++) log.append({DecisionKind::kElement, 2, 3, 0, {}});
  EXPECT_EQ(log.bytes().size(), size);
  EXPECT_EQ(read_all(log.bytes()).size(), 1001u);
}

TEST(DecisionLogReaderTest, RefusesDamagedBytes) {
  MemoryDecisionLog log;
  log.append({DecisionKind::kElement, 2, 3, 0, {}});
  const std::string cut = log.bytes().substr(0, log.bytes().size() - 1);
  DecisionLogReader short_reader(cut);
  EXPECT_FALSE(short_reader.peek());
  EXPECT_EQ(short_reader.status().code(), StatusCode::kDataLoss);
}

TEST(DecisionLogReaderTest, NamesAKindThatALaterVersionWrote) {
  for (const std::string_view later : {"\x08", "\x63"}) {  // The first one is reserved.
    DecisionLogReader reader(later);
    EXPECT_FALSE(reader.peek());
    EXPECT_EQ(reader.status().code(), StatusCode::kDataLoss);
    EXPECT_NE(reader.status().message().find("kind " + std::to_string(later[0])), std::string::npos)
        << reader.status().message();
  }
}

class LiveDecisionsTest : public ::testing::Test {
 protected:
  Offers offers(bool poll = false) {
    Offers offers;
    offers.gates = &gates_;
    offers.elements = true;
    offers.poll = poll;
    return offers;
  }

  ManualClock clock_;
  MemoryDecisionLog log_;
  FeedGate first_, second_;
  std::vector<InputGate*> gates_{&first_, &second_};
  LiveDecisions decisions_{clock_, make_seeded_random(3), &log_};
};

TEST_F(LiveDecisionsTest, TakesFromInputsInTurns) {
  for (uint64_t i = 0; i < 4; i++) first_.feed(0, i);
  second_.feed(0, 9);
  second_.feed(0, 9);
  std::vector<uint32_t> inputs;
  while (const auto decision = decisions_.next(offers())) {
    gates_[decision->input]->take_from(decision->producer);
    inputs.push_back(decision->input);
  }
  EXPECT_EQ(inputs, (std::vector<uint32_t>{0, 1, 0, 1, 0, 0}));
}

TEST_F(LiveDecisionsTest, TakesFromInputAndSourceInTurns) {
  for (uint64_t i = 0; i < 3; i++) first_.feed(0, i);
  std::vector<DecisionKind> kinds;
  for (int i = 0; i < 4; i++) {
    const auto decision = decisions_.next(offers(true));
    kinds.push_back(decision->kind);
    if (decision->kind == DecisionKind::kElement) first_.take_from(decision->producer);
  }
  using enum DecisionKind;
  EXPECT_EQ(kinds, (std::vector<DecisionKind>{kPoll, kElement, kPoll, kElement}));
}

TEST_F(LiveDecisionsTest, LogsBeforeItReturns) {
  first_.feed(1, 5);
  const auto decision = decisions_.next(offers());
  EXPECT_EQ(read_all(log_.bytes()), std::vector<Decision>{*decision});
}

TEST_F(LiveDecisionsTest, EndsAnInputOnceEverythingWasTaken) {
  first_.feed(0, 1);
  first_.end();
  EXPECT_EQ(decisions_.next(offers())->kind, DecisionKind::kElement);
  first_.take_from(0);
  EXPECT_EQ(decisions_.next(offers())->kind, DecisionKind::kEndInput);
}

TEST_F(LiveDecisionsTest, PollsASourceThatWaitsWhenItsTimeHasComeOrTheClockWentBack) {
  decisions_.tick();
  const EpochMillis now = decisions_.processing_time();
  Offers waiting = offers();
  waiting.poll_wait = PollWait{now, now + 5};
  EXPECT_FALSE(decisions_.next(waiting));
  clock_.advance(5ms);
  EXPECT_FALSE(decisions_.next(waiting)) << "the time changes at a tick";
  decisions_.tick();
  EXPECT_EQ(decisions_.next(waiting)->kind, DecisionKind::kPoll);
  waiting.poll_wait = PollWait{now + 6, now + 60};
  EXPECT_EQ(decisions_.next(waiting)->kind, DecisionKind::kPoll);
  ReplayingDecisions replay(log_.bytes());
  waiting.poll_wait = PollWait{now, now + 5};
  EXPECT_EQ(replay.next(waiting)->kind, DecisionKind::kPoll);
  waiting.poll_wait = PollWait{now, now + 6};
  EXPECT_FALSE(replay.next(waiting));
  EXPECT_EQ(replay.status().code(), StatusCode::kDataLoss);
}

TEST_F(LiveDecisionsTest, TimeChangesOnlyAtATick) {
  decisions_.tick();
  const EpochMillis before = decisions_.processing_time();
  EXPECT_EQ(before, clock_.epoch_millis());
  clock_.advance(5ms);
  EXPECT_EQ(decisions_.processing_time(), before);
  decisions_.tick();
  decisions_.tick();
  EXPECT_EQ(decisions_.processing_time(), before + 5);
  EXPECT_EQ(log_.decisions(), 2u);
}

TEST_F(LiveDecisionsTest, ReplayGivesTheSameNumbersAndAnswers) {
  const uint64_t number = decisions_.random();
  const std::string answer = decisions_.external([] { return "yes"; });
  ReplayingDecisions replay(log_.bytes());
  EXPECT_EQ(replay.random(), number);
  EXPECT_EQ(replay.external([]() -> std::string { throw std::runtime_error("asked again"); }),
            answer);
  EXPECT_TRUE(replay.exhausted());
  EXPECT_TRUE(replay.status().ok());
}

TEST_F(LiveDecisionsTest, ReplayWaitsForAnElementThatIsNotThere) {
  log_.append({DecisionKind::kElement, 1, 7, 0, {}});
  ReplayingDecisions replay(log_.bytes());
  first_.feed(0, 1);
  EXPECT_FALSE(replay.next(offers()));
  second_.feed(7, 2);
  EXPECT_EQ(replay.next(offers())->producer, 7u);
  EXPECT_TRUE(replay.status().ok());
}

TEST_F(LiveDecisionsTest, ReplayNoticesAnotherQuestion) {
  decisions_.random();
  ReplayingDecisions replay(log_.bytes());
  replay.external([] { return "yes"; });
  EXPECT_EQ(replay.status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace freshet
