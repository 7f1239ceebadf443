#include "runtime/rest/job_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/rest/fake_cluster.h"

namespace freshet::rest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kEnd = "event: end\ndata: {}\n\n";

class JobEventsTest : public ::testing::Test {
 protected:
  std::shared_ptr<EventStream> follow(std::optional<JobId> job) {
    return events_->follow(job).value();
  }
  /// After the next look.
  std::string next(EventStream& stream) {
    clock_.advance(JobEvents::kLook);
    return stream.next().value_or("nothing more");
  }
  void enter(JobState state, EpochMillis at) {
    cluster_.job_view.summary.state = state;
    cluster_.job_view.summary.last_modification = at;
    cluster_.job_view.entered.push_back({state, at});
  }
  void all_vertices_are(TaskState state) {
    TaskCounts counts{};
    counts[static_cast<size_t>(state)] = 2;
    for (VertexView& vertex : cluster_.job_view.vertices) vertex.counts = counts;
    cluster_.job_view.summary.counts = counts;
  }
  static std::string job(const std::string& state, EpochMillis at) {
    return R"(event: job
data: {"jid":"00000000000000010000000000000002","name":"words","state":")" +
           state + R"(","timestamp":)" + std::to_string(at) + "}\n\n";
  }
  static std::string vertex(const std::string& letters, const std::string& name,
                            const std::string& state) {
    return R"(event: vertex
data: {"jid":"00000000000000010000000000000002","vertex-id":"000000000000000000000000000000)" +
           letters + R"(","name":")" + name + R"(","status":")" + state +
           R"(","timestamp":100000})" + "\n\n";
  }

  FakeCluster cluster_;
  ManualClock clock_;
  const std::shared_ptr<JobEvents> events_ = std::make_shared<JobEvents>(cluster_, clock_);
  const JobId id_{1, 2};
};

TEST_F(JobEventsTest, TellsTheStatesOfAJobAndThenWhatChanges) {
  const auto stream = follow(id_);
  EXPECT_EQ(*stream->next(), ": the present states, then what changes\n\n" +
                                 job("RUNNING", 45'000) + vertex("aa", "Source: text", "RUNNING") +
                                 vertex("bb", "Sink: files", "RUNNING"));
  EXPECT_EQ(next(*stream), "");
  all_vertices_are(TaskState::kFinished);
  EXPECT_EQ(next(*stream),
            vertex("aa", "Source: text", "FINISHED") + vertex("bb", "Sink: files", "FINISHED"));
  enter(JobState::kCommitting, 70'000);
  EXPECT_EQ(next(*stream), "");  // Flink does not know it.
  enter(JobState::kFinished, 71'000);
  EXPECT_EQ(next(*stream), job("FINISHED", 71'000) + kEnd);
  EXPECT_EQ(stream->next(), std::nullopt);
  EXPECT_EQ(*follow(id_)->next(), ": the present states, then what changes\n\n" +
                                      job("FINISHED", 71'000) +
                                      vertex("aa", "Source: text", "FINISHED") +
                                      vertex("bb", "Sink: files", "FINISHED") + kEnd);
}

TEST_F(JobEventsTest, MissesNoStateOfAJobHoweverShort) {
  const auto stream = follow(std::nullopt);
  EXPECT_EQ(*stream->next(),
            ": the present states, then what changes\n\n" + job("RUNNING", 45'000));
  enter(JobState::kFailing, 60'000);
  enter(JobState::kRestarting, 60'000);
  enter(JobState::kRunning, 60'001);
  EXPECT_EQ(next(*stream),
            job("FAILING", 60'000) + job("RESTARTING", 60'000) + job("RUNNING", 60'001));
}

TEST_F(JobEventsTest, TellsAStateOnceThoughItsTimeIsAMillisecondOff) {
  const auto stream = follow(std::nullopt);
  (void)stream->next();
  for (const EpochMillis off : {1, -1, 0}) {
    for (auto& [state, at] : cluster_.job_view.entered) at += off;
    cluster_.job_view.summary.last_modification += off;
    EXPECT_EQ(next(*stream), "");
  }
  all_vertices_are(TaskState::kFinished);
  enter(JobState::kFinished, 71'000);
  EXPECT_THAT(next(*stream), testing::EndsWith(job("FINISHED", 71'000)));
  for (auto& [state, at] : cluster_.job_view.entered) at += 1;
  EXPECT_EQ(next(*stream), "");
}

TEST_F(JobEventsTest, FollowersOfAllJobsGoOnWhenOneHasEnded) {
  const auto stream = follow(std::nullopt);
  (void)stream->next();
  enter(JobState::kFinished, 71'000);
  EXPECT_EQ(next(*stream), job("FINISHED", 71'000));
  cluster_.job_view.summary.id = {3, 4};
  cluster_.job_view.entered = {{JobState::kCreated, 80'000}};
  cluster_.job_view.summary.state = JobState::kCreated;
  EXPECT_THAT(next(*stream), HasSubstr("\"state\":\"CREATED\",\"timestamp\":80000"));
  EXPECT_EQ(next(*stream), "");
}

TEST_F(JobEventsTest, SaysNowAndThenThatItIsThere) {
  const auto stream = follow(id_);
  (void)stream->next();
  clock_.advance(JobEvents::kHeartbeat);
  EXPECT_EQ(next(*stream), ": nothing has changed\n\n");
  cluster_.error = unavailable("no answer");
  EXPECT_EQ(next(*stream), "");
  clock_.advance(JobEvents::kHeartbeat);
  EXPECT_EQ(next(*stream), ": nothing has changed\n\n");
  cluster_.error = Status();
  all_vertices_are(TaskState::kFinished);
  EXPECT_THAT(next(*stream), HasSubstr("FINISHED"));
}

TEST_F(JobEventsTest, TellsWhoReadsTooSlowlyThatEventsAreMissing) {
  const auto slow = follow(id_);
  (void)slow->next();
  const auto fast = follow(std::nullopt);
  (void)fast->next();
  for (size_t i = 0; i < JobEvents::kEventsMax; ++i) {
    all_vertices_are(i % 2 == 0 ? TaskState::kInitializing : TaskState::kRunning);
    EXPECT_THAT(next(*fast), HasSubstr("Sink: files"));
  }
  EXPECT_EQ(next(*slow), "event: missed\ndata: {}\n\n" + job("RUNNING", 45'000) +
                             vertex("aa", "Source: text", "RUNNING") +
                             vertex("bb", "Sink: files", "RUNNING"));
}

TEST_F(JobEventsTest, RefusesWhoCannotFollow) {
  std::vector<std::shared_ptr<EventStream>> streams;
  for (size_t i = 0; i < JobEvents::kStreamsMax; ++i) streams.push_back(follow(id_));
  EXPECT_EQ(events_->follow(id_).status(),
            resource_exhausted("32 clients follow events, and no more can; ask /jobs/overview now "
                               "and then"));
  streams.pop_back();
  EXPECT_EQ(events_->follow(JobId{5, 6}).status().code(), StatusCode::kNotFound);
  cluster_.error = unavailable("no answer");
  EXPECT_EQ(events_->follow(id_).status(), unavailable("no answer"));
  cluster_.error = Status();
  EXPECT_NE(follow(id_), nullptr);
}

}  // namespace
}  // namespace freshet::rest
