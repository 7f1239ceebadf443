#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "jobmanager/job_manager.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "tests/unit/jobmanager/job_manager_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::SizeIs;

TEST_F(JobManagerTest, TaskManagerThatUnregistersIsNotLost) {
  static std::string warnings;
  warnings.clear();
  log_to_sink(
      [](void*, LogLevel level, std::string_view line) {
        if (level >= LogLevel::kWarn) warnings += line;
      },
      nullptr);
  auto worker = task_manager(1);
  proto::Envelope envelope;
  envelope.mutable_unregister_task_manager();
  worker->send(envelope);
  EXPECT_TRUE(worker->closed());
  EXPECT_TRUE(job_manager_->jobs().resources().task_managers().empty());
  EXPECT_EQ(warnings, "");
  log_to_sink(nullptr, nullptr);
}

TEST_F(JobManagerTest, SilentTaskManagerIsLostAndAHeartbeatKeepsIt) {
  auto silent = task_manager(1);
  auto beating = task_manager(2);
  for (uint64_t i = 1; i <= 12; i++) {
    executor_.advance(1s);
    proto::Envelope envelope;
    envelope.mutable_heartbeat()->set_sequence(i);
    beating->send(envelope);
    EXPECT_EQ(beating->take_last().heartbeat_reply().sequence(), i);
  }
  EXPECT_TRUE(silent->closed());
  ASSERT_EQ(job_manager_->jobs().resources().task_managers().size(), 1u);
  EXPECT_EQ(job_manager_->jobs().resources().task_managers()[0].id, TaskManagerId{2});
}

TEST_F(JobManagerTest, HeartbeatsThatComeAgainOrLateTellNothing) {
  auto worker = task_manager(1);
  const auto beat = [&](uint64_t number, bool hosts_something) {
    proto::Envelope envelope;
    envelope.mutable_heartbeat()->set_sequence(number);
    if (hosts_something) envelope.mutable_heartbeat()->add_hosted()->set_vertex(5);
    worker->send(envelope);
  };
  beat(2, false);
  beat(1, true);
  beat(2, true);
  EXPECT_FALSE(worker->received(proto::Envelope::kCancelTasks));
  beat(3, true);
  EXPECT_TRUE(worker->received(proto::Envelope::kCancelTasks));
}

TEST_F(JobManagerTest, PauseOfItsOwnProcessLosesNobody) {
  auto worker = task_manager(1);
  clock_.advance(60s);
  proto::Envelope envelope;
  envelope.mutable_heartbeat()->set_sequence(1);
  worker->send(envelope);  // Its timers are due before this arrives.
  executor_.advance(5s);
  EXPECT_FALSE(worker->closed());
  EXPECT_EQ(job_manager_->jobs().resources().task_managers().size(), 1u);
}

TEST_F(JobManagerTest, RegistrationUnderTheSameIdReplacesTheConnection) {
  auto old = task_manager(1);
  auto fresh = connect();
  fresh->hello(proto::Hello::TASK_MANAGER);
  proto::Envelope envelope = registration(1, 2, 2);
  envelope.mutable_register_task_manager()->add_hosted()->set_vertex(3);
  fresh->send(envelope);
  EXPECT_TRUE(old->closed());
  EXPECT_TRUE(fresh->received(proto::Envelope::kCancelTasks));
  EXPECT_EQ(job_manager_->jobs().resources().slot_count(), 2u);
}

TEST_F(JobManagerTest, RegistrationThatComesAfterANewerOneIsRefused) {
  auto old = connect();
  old->hello(proto::Hello::TASK_MANAGER);
  auto older = connect();
  older->hello(proto::Hello::TASK_MANAGER);
  auto fresh = connect();
  fresh->hello(proto::Hello::TASK_MANAGER);
  fresh->send(registration(1, 2, 3));
  old->send(registration(1, 2, 2));
  EXPECT_TRUE(old->closed());
  EXPECT_FALSE(old->received(proto::Envelope::kRegisterReply));
  EXPECT_FALSE(fresh->closed());
  EXPECT_EQ(job_manager_->jobs().resources().slot_count(), 2u);
  fresh->close();
  older->send(registration(1, 2, 1));  // Nor when the newer one has gone again.
  EXPECT_TRUE(older->closed());
  EXPECT_EQ(job_manager_->jobs().resources().slot_count(), 0u);
  auto next = connect();
  next->hello(proto::Hello::TASK_MANAGER);
  next->send(registration(1, 2, 4));
  EXPECT_TRUE(next->received(proto::Envelope::kRegisterReply));
}

TEST_F(JobManagerTest, RefusesPeersOfOtherVersionsOrSecrets) {
  start({"security.secret=correct"});
  const auto refused = [&](auto say_hello) {
    auto peer = connect();
    say_hello(*peer);
    const proto::Envelope reply = peer->take_last();
    EXPECT_NE(reply.hello_reply().status().code(), 0u);
    EXPECT_EQ(reply.hello_reply().job_manager_epoch(), 0u);
    EXPECT_EQ(reply.hello_reply().library_version(), FRESHET_VERSION);
    EXPECT_EQ(reply.hello_reply().protocol_version(), kProtocolVersion);
    EXPECT_TRUE(peer->closed());
    return reply.hello_reply().status().message();
  };
  EXPECT_THAT(refused([](Peer& p) { p.hello(proto::Hello::CLIENT, "wrong"); }),
              HasSubstr("secret"));
  EXPECT_THAT(refused([](Peer& p) { p.hello(proto::Hello::CLIENT, ""); }), HasSubstr("secret"));
  EXPECT_EQ(refused([](Peer& p) { p.hello(proto::Hello::CLIENT, "correct", "0.0.9", 1); }),
            "a client has version 0.0.9 (protocol 1), this JobManager has version " FRESHET_VERSION
            " (protocol " +
                std::to_string(kProtocolVersion) + "); both must be the same");
  EXPECT_THAT(
      refused([](Peer& p) { p.hello(proto::Hello::TASK_MANAGER, "correct", FRESHET_VERSION, 99); }),
      HasSubstr("a TaskManager has version " FRESHET_VERSION " (protocol 99), this"));
  EXPECT_THAT(refused([](Peer& p) {
                p.hello(proto::Hello::TASK_MANAGER, "correct",
                        std::string(kOpeningBytesMax / 2, 'v'));
              }),
              SizeIs(Lt(300u)));
  refused([](Peer& p) { p.hello(proto::Hello::UNKNOWN, "correct"); });
  auto good = connect();
  good->hello(proto::Hello::CLIENT, "correct");
  EXPECT_EQ(good->take_last().hello_reply().status().code(), 0u);
}

TEST_F(JobManagerTest, HearsNoMoreOfAStrangerThanWhoHeIs) {
  const auto stranger = connect();
  stranger->send_raw(std::string(kOpeningBytesMax + 1, 'x'));
  EXPECT_TRUE(stranger->closed());
  const auto talkative = connect();
  talkative->hello(proto::Hello::CLIENT, "", std::string(kOpeningBytesMax, 'v'));
  EXPECT_TRUE(talkative->closed());
  EXPECT_TRUE(talkative->take().empty());
  const auto user = client();
  proto::Envelope envelope;
  envelope.mutable_get_blob()->set_hash(std::string(kOpeningBytesMax + 1, 'x'));
  user->send(envelope);
  EXPECT_FALSE(user->closed());
}

TEST_F(JobManagerTest, HearsNoMoreOfAStrangerBeforeTheProof) {
  start({"security.secret=correct"});
  const auto challenged = [this] {
    auto peer = connect();
    proto::Envelope envelope;
    envelope.mutable_hello()->set_role(proto::Hello::CLIENT);
    envelope.mutable_hello()->set_nonce(std::string(SecretHandshake::kNonceBytes, 'n'));
    envelope.mutable_hello()->set_library_version(FRESHET_VERSION);
    envelope.mutable_hello()->set_protocol_version(kProtocolVersion);
    peer->send(envelope);
    EXPECT_TRUE(peer->received(proto::Envelope::kHelloChallenge));
    EXPECT_FALSE(peer->closed());
    return peer;
  };
  const auto large = challenged();
  large->send(Peer::proof_message(std::string(kOpeningBytesMax, 'x')));
  EXPECT_TRUE(large->closed());
  const auto early = challenged();
  proto::Envelope request;
  request.mutable_list_jobs();
  early->send(request);
  EXPECT_TRUE(early->closed());
  EXPECT_FALSE(early->received(proto::Envelope::kListJobsReply));
  const auto silent = challenged();
  executor_.advance(10s);
  EXPECT_TRUE(silent->closed());
}

TEST_F(JobManagerTest, TakesNoProofTwice) {
  start({"security.secret=correct"});
  const auto good = connect();
  good->hello(proto::Hello::CLIENT, "correct");
  EXPECT_FALSE(good->closed());
  const auto again = connect();
  again->send_raw(good->sent()[0]);
  again->send_raw(good->sent()[1]);
  EXPECT_THAT(again->take_last().hello_reply().status().message(),
              HasSubstr("security.secret differs: a client does not know that of this JobManager"));
  EXPECT_TRUE(again->closed());
  const auto mirror = connect();
  mirror->send_raw(good->sent()[0]);
  const std::string challenge = mirror->take_last().hello_challenge().nonce();
  mirror->send(Peer::proof_message(challenge));
  EXPECT_NE(mirror->take_last().hello_reply().status().code(), 0u);
  EXPECT_TRUE(mirror->closed());
}

TEST_F(JobManagerTest, NeverSaysItsSecret) {
  start({"security.secret=morning-rain"});
  std::string said;
  for (const std::string secret : {"morning-rain", "evening-rain", ""}) {
    const auto peer = connect();
    peer->hello(proto::Hello::CLIENT, secret);
    for (const std::string& bytes : peer->sent()) said += bytes;
    for (const std::string& bytes : peer->heard()) said += bytes;
  }
  EXPECT_THAT(said, HasSubstr("security.secret differs"));
  EXPECT_THAT(said, Not(HasSubstr("morning")));
}

TEST_F(JobManagerTest, SaysThatItHasNoSecret) {
  const auto peer = connect();
  peer->hello(proto::Hello::CLIENT, "correct");
  EXPECT_THAT(peer->take_last().hello_reply().status().message(),
              HasSubstr("a client has one, this JobManager has none"));
  EXPECT_TRUE(peer->closed());
}

TEST_F(JobManagerTest, ClosesWhoSaysNothing) {
  auto silent = connect();
  auto unregistered = connect();
  unregistered->hello(proto::Hello::TASK_MANAGER);
  auto user = client();
  executor_.advance(10s);
  EXPECT_TRUE(silent->closed());
  EXPECT_TRUE(unregistered->closed());
  EXPECT_FALSE(user->closed());
}

TEST_F(JobManagerTest, GarbageClosesItsConnectionOnly) {
  auto bystander = client();
  std::vector<std::function<void(Peer&)>> attacks = {
      [](Peer& p) { p.send_raw("\xff\xff\xff garbage"); },
      [](Peer& p) { p.send_raw(""); },
      [](Peer& p) { p.send(registration(1)); },
      [](Peer& p) {
        p.hello(proto::Hello::CLIENT);
        p.send(registration(1));
      },
      [](Peer& p) {
        p.hello(proto::Hello::BLOB_CLIENT);
        p.send(submission());
      },
      [](Peer& p) {
        p.hello(proto::Hello::TASK_MANAGER);
        proto::Envelope no_socket = registration(1);
        no_socket.mutable_register_task_manager()->set_unix_address("127.0.0.1:80");
        p.send(no_socket);
      },
      [](Peer& p) {
        p.hello(proto::Hello::TASK_MANAGER);
        p.send(registration(0));
      },
      [](Peer& p) {
        p.hello(proto::Hello::TASK_MANAGER);
        p.send(registration(1, 1'000'000));
      },
      [](Peer& p) {
        p.hello(proto::Hello::TASK_MANAGER);
        p.send(registration(1));
        p.send(registration(2));
      },
      [](Peer& p) {
        p.hello(proto::Hello::TASK_MANAGER);
        p.send(registration(1));
        proto::Envelope envelope;
        envelope.mutable_task_state_changed()->set_state(200);
        p.send(envelope);
      },
      [](Peer& p) {
        p.hello(proto::Hello::TASK_MANAGER);
        proto::Envelope envelope;
        envelope.mutable_heartbeat();
        p.send(envelope);
      },
  };
  for (size_t i = 0; i < attacks.size(); i++) {
    auto peer = connect();
    attacks[i](*peer);
    EXPECT_TRUE(peer->closed()) << "attack " << i;
  }
  EXPECT_FALSE(bystander->closed());
  EXPECT_TRUE(job_manager_->jobs().resources().task_managers().empty());
}

TEST_F(JobManagerTest, IgnoresMessagesAboutWhatItDoesNotKnow) {
  auto worker = task_manager(1);
  proto::Envelope state;
  state.mutable_task_state_changed()->mutable_attempt()->set_vertex(5);
  state.mutable_task_state_changed()->set_state(static_cast<uint32_t>(TaskState::kFailed));
  worker->send(state);
  proto::Envelope done;
  done.mutable_commit_done()->set_commit_id(9);
  worker->send(done);
  proto::Envelope lost;
  lost.mutable_channels_lost()->set_dataset(4);
  worker->send(lost);
  EXPECT_FALSE(worker->closed());
  proto::Envelope heartbeat;
  heartbeat.mutable_heartbeat()->add_hosted()->set_vertex(5);
  worker->send(heartbeat);
  EXPECT_TRUE(worker->received(proto::Envelope::kCancelTasks));
  EXPECT_TRUE(worker->received(proto::Envelope::kReleaseJob));
}

}  // namespace
}  // namespace freshet
