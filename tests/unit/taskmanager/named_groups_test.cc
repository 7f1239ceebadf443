#include <gmock/gmock.h>

#include "taskmanager/gate_group_cache.h"
#include "tests/unit/taskmanager/task_executor_fixture.h"

namespace freshet {
namespace {

using taskmanager_test::kJob;
using testing::Contains;
using testing::HasSubstr;

/// Deployments that name what was sent before, or what is to be fetched.
class NamedGroupsTest : public taskmanager_test::TaskExecutorTest {
 protected:
  NamedGroupsTest() {
    script_->endless = true;
    proto::Envelope envelope = taskmanager_test::deployment(TaskManagerId{77}, address());
    blob_ = envelope.deploy_tasks().groups(0).SerializeAsString();
  }

  Address address() const { return shuffle_->data_address(); }

  /// The sink alone, whose input has a name; with the group itself when that is `sent`.
  proto::Envelope named(AttemptNumber attempt, bool sent) const {
    proto::Envelope envelope = taskmanager_test::deployment(TaskManagerId{77}, address(), attempt);
    proto::DeployTasks* deploy = envelope.mutable_deploy_tasks();
    deploy->mutable_tasks()->DeleteSubrange(0, 1);
    if (!sent) deploy->mutable_groups(0)->Clear();
    deploy->mutable_groups(0)->set_hash(content_hash(blob_));
    return envelope;
  }
  /// Without what all tasks of the job share.
  static proto::Envelope without_job(proto::Envelope envelope) {
    envelope.mutable_deploy_tasks()->clear_job();
    to_proto(kJob, envelope.mutable_deploy_tasks()->mutable_known_job());
    return envelope;
  }
  void send(const proto::Envelope& envelope) {
    manager_.send(envelope);
    settle();
  }
  void cancel_sink(AttemptNumber attempt) {
    tell([&](proto::Envelope& envelope) {
      to_proto(taskmanager_test::attempt_of(1, attempt),
               envelope.mutable_cancel_tasks()->add_attempts());
    });
  }

  std::string blob_;  // The first attempt of the producer.
};

TEST_F(NamedGroupsTest, WhatWasSentOnceIsNotFetched) {
  send(named(0, true));
  EXPECT_THAT(manager_.states(), Contains("1/0#0 RUNNING"));
  cancel_sink(0);
  send(without_job(named(1, false)));
  EXPECT_THAT(manager_.states(), Contains("1/0#1 RUNNING"));
  EXPECT_EQ(manager_.blobs_sent, 1);  // The module.
}

TEST_F(NamedGroupsTest, WhatWasNotSentIsFetchedOnce) {
  manager_.blobs[content_hash(blob_)] = blob_;
  send(named(0, false));
  EXPECT_THAT(manager_.states(), Contains("1/0#0 RUNNING"));
  cancel_sink(0);
  send(without_job(named(1, false)));
  EXPECT_THAT(manager_.states(), Contains("1/0#1 RUNNING"));
  EXPECT_EQ(manager_.blobs_sent, 2);
}

TEST_F(NamedGroupsTest, ATaskWhoseInputCannotBeFetchedFailsAndNothingElse) {
  send(named(0, false));
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->cause().message(), HasSubstr("description of an input"));
  EXPECT_THAT(failed->cause().message(), HasSubstr("no such blob"));
  EXPECT_EQ(executor_->free_slots(), 2u);
  EXPECT_TRUE(manager_.connected());
  send(without_job(named(1, true)));
  EXPECT_THAT(manager_.states(), Contains("1/0#1 RUNNING"));
}

TEST_F(NamedGroupsTest, ABlobThatIsNoInputOfTheTaskFailsIt) {
  proto::GateGroup other;
  ASSERT_TRUE(other.ParseFromString(blob_));
  other.clear_run_lengths();
  other.clear_run_locations();
  other.clear_run_attempts();
  blob_ = other.SerializeAsString();
  manager_.blobs[content_hash(blob_)] = blob_;
  send(named(0, false));
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->cause().message(), HasSubstr("lacks producers"));
  EXPECT_TRUE(manager_.connected());
}

TEST_F(NamedGroupsTest, TasksThatWaitForTheirInputsAreCancelledAndReleased) {
  for (const bool release_job : {false, true}) {
    const AttemptNumber attempt = release_job ? 1 : 0;
    manager_.blobs[content_hash(blob_)] = blob_;
    manager_.send(named(attempt, false));
    proto::Envelope envelope;
    if (release_job) {
      to_proto(kJob, envelope.mutable_release_job()->mutable_job());
    } else {
      to_proto(taskmanager_test::attempt_of(1, attempt),
               envelope.mutable_cancel_tasks()->add_attempts());
    }
    send(envelope);
    EXPECT_THAT(manager_.states(), Contains("1/0#" + std::to_string(attempt) + " CANCELED"));
    EXPECT_EQ(executor_->free_slots(), 2u);
  }
  EXPECT_TRUE(manager_.received.back().has_job_released());
}

TEST_F(NamedGroupsTest, AJobThatIsNotKnownClosesTheConnection) {
  manager_.send(without_job(named(0, true)));
  main_.run_ready();
  EXPECT_FALSE(manager_.connected());
}

// ---- The cache alone ----

class GateGroupCacheTest : public testing::Test {
 protected:
  static GateGroupCache::Group group(size_t runs) {
    auto group = std::make_shared<GateGroup>();
    group->producers.resize(runs);
    return group;
  }

  ManualClock clock_;
  ManualExecutor main_{clock_};
  LocalTransport transport_{main_};
  Mailbox mailbox_{main_};
};

TEST_F(GateGroupCacheTest, ForgetsWhatWasUsedFirst) {
  const uint64_t one = sizeof(GateGroup) + 1000 * sizeof(InputGate::ProducerRange);
  GateGroupCache cache({2 * one + 100, "here", {}}, transport_, mailbox_);
  cache.add(kJob, "a", group(1000));
  cache.add(kJob, "b", group(1000));
  EXPECT_NE(cache.find(kJob, "a"), nullptr);
  cache.add(kJob, "c", group(1000));
  EXPECT_NE(cache.find(kJob, "a"), nullptr);
  EXPECT_EQ(cache.find(kJob, "b"), nullptr);
  EXPECT_NE(cache.find(kJob, "c"), nullptr);
  EXPECT_EQ(cache.bytes(), 2 * one);
  cache.add(kJob, "too large for all", group(10'000));
  EXPECT_EQ(cache.find(kJob, "too large for all"), nullptr);
  EXPECT_EQ(cache.bytes(), 2 * one);
}

TEST_F(GateGroupCacheTest, AJobGoesWithAllOfIts) {
  const JobId other{1, 2};
  GateGroupCache cache({1 << 20, "here", {}}, transport_, mailbox_);
  cache.add(kJob, "a", group(10));
  cache.add(other, "a", group(20));
  EXPECT_NE(cache.find(kJob, "a"), cache.find(other, "a"));
  cache.forget(kJob);
  EXPECT_EQ(cache.find(kJob, "a"), nullptr);
  EXPECT_NE(cache.find(other, "a"), nullptr);
  cache.forget(other);
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace freshet
