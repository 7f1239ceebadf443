#include "jobmanager/job_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobmanager/control_messages.h"
#include "network/local_transport.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"
#include "tests/unit/jobmanager/test_jobs.h"
#include "tests/unit/jobmanager/test_peer.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

const std::string kModule = "not really a shared object";

class JobManagerTest : public testing::Test {
 protected:
  JobManagerTest() { start({}); }
  ~JobManagerTest() override { stop(); }

  void start(const std::vector<std::string>& settings) {
    stop();
    JobManager::Options options;
    options.bind = Address{"127.0.0.1", 0};
    options.state_dir = "/state";
    for (const auto& pair : settings) ASSERT_TRUE(options.configuration.set_pair(pair).ok());
    job_manager_ = std::make_unique<JobManager>(options, transport_, executor_, executor_, clock_,
                                                *random_, files_, *faults_);
    auto address = job_manager_->start();
    ASSERT_TRUE(address.ok()) << address.status().to_string();
    address_ = *address;
    executor_.run_ready();
  }

  void stop() {
    if (!job_manager_) return;
    bool stopped = false;
    job_manager_->stop([&] { stopped = true; });
    executor_.run_ready();
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(files_.files().empty());
    job_manager_.reset();
  }

  std::unique_ptr<Peer> connect() {
    return std::make_unique<Peer>(transport_, executor_, address_);
  }

  std::unique_ptr<Peer> client() {
    auto peer = connect();
    peer->hello(proto::Hello::CLIENT);
    EXPECT_TRUE(peer->take_last().hello_reply().status().code() == 0);
    return peer;
  }

  static proto::Envelope registration(uint64_t id, uint32_t slots = 2, uint64_t number = 1) {
    proto::Envelope envelope;
    auto* message = envelope.mutable_register_task_manager();
    message->set_task_manager(id);
    message->set_name("tm");
    message->set_host_id("host");
    message->set_data_host("127.0.0.1");
    message->set_data_port(4000 + static_cast<uint32_t>(id));
    message->set_slots(slots);
    message->set_number(number);
    return envelope;
  }

  std::unique_ptr<Peer> task_manager(uint64_t id, uint32_t slots = 2) {
    auto peer = greeted_task_manager(id, slots);
    peer->take();
    return peer;
  }
  /// What it got since its registration can still be taken.
  std::unique_ptr<Peer> greeted_task_manager(uint64_t id, uint32_t slots = 2) {
    auto peer = connect();
    peer->hello(proto::Hello::TASK_MANAGER);
    peer->send(registration(id, slots));
    EXPECT_TRUE(peer->received(proto::Envelope::kRegisterReply));
    return peer;
  }

  void put_module(Peer& peer) {
    proto::Envelope envelope;
    envelope.mutable_put_blob()->set_hash(content_hash(kModule));
    envelope.mutable_put_blob()->set_size(kModule.size());
    envelope.mutable_put_blob()->set_data(kModule);
    envelope.mutable_put_blob()->set_last(true);
    peer.send(envelope);
    EXPECT_EQ(peer.take_last().put_blob_reply().status().code(), 0u);
  }

  static proto::Envelope submission(JobGraph graph = two_vertices()) {
    proto::Envelope envelope;
    envelope.set_request_id(77);
    auto* message = envelope.mutable_submit_job();
    message->set_name("word count");
    message->set_module_hash(content_hash(kModule));
    BuildOptions build;
    build.parallelism = 2;
    to_proto(build, message->mutable_build());
    to_proto(graph, message->mutable_graph());
    return envelope;
  }

  JobId submit(Peer& peer) {
    put_module(peer);
    peer.send(submission());
    const proto::Envelope reply = peer.take_last();
    EXPECT_EQ(reply.request_id(), 77u);
    EXPECT_EQ(reply.submit_job_reply().status().message(), "");
    return {reply.submit_job_reply().job().high(), reply.submit_job_reply().job().low()};
  }

  static void fill(proto::JobIdProto* to, JobId id) {
    to->set_high(id.high);
    to->set_low(id.low);
  }

  proto::GetJobReply get(Peer& peer, JobId id) {
    proto::Envelope envelope;
    fill(envelope.mutable_get_job()->mutable_job(), id);
    peer.send(envelope);
    return peer.take_last().get_job_reply();
  }

  static proto::DeployTasks deployment(Peer& peer) {
    for (const auto& envelope : peer.take()) {
      if (envelope.has_deploy_tasks()) return envelope.deploy_tasks();
    }
    ADD_FAILURE() << "nothing was deployed";
    return {};
  }

  static void report(Peer& peer, const proto::DeployTasks& tasks, TaskState state,
                     const std::string& committable = "") {
    for (const auto& task : tasks.tasks()) {
      proto::Envelope envelope;
      auto* message = envelope.mutable_task_state_changed();
      *message->mutable_attempt() = task.attempt();
      message->set_state(static_cast<uint32_t>(state));
      if (!committable.empty() && task.attempt().vertex() == 1) {
        message->add_committables()->set_payload(committable);
      }
      peer.send(envelope);
    }
  }

  static void released(Peer& peer, JobId id, bool cleaned_up = false) {
    proto::Envelope envelope;
    fill(envelope.mutable_job_released()->mutable_job(), id);
    envelope.mutable_job_released()->set_cleaned_up(cleaned_up);
    peer.send(envelope);
  }

  /// The jobs that the peer was told to clean up since the last call.
  static std::vector<JobId> clean_ups(Peer& peer) {
    std::vector<JobId> jobs;
    for (const auto& envelope : peer.take()) {
      if (!envelope.release_job().has_clean_up()) continue;
      const proto::JobIdProto& job = envelope.release_job().clean_up().job();
      EXPECT_EQ(job.low(), envelope.release_job().job().low());
      EXPECT_EQ(envelope.release_job().clean_up().module_hash(), content_hash(kModule));
      jobs.push_back({job.high(), job.low()});
    }
    return jobs;
  }

  JobState state_of(JobId id) {
    const JobRecord* record = job_manager_->jobs().find(id);
    return record != nullptr ? record->master->state() : JobState::kCreated;
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  MemoryFileSystem files_;
  std::unique_ptr<Random> random_ = make_seeded_random(3);
  std::unique_ptr<Faults> faults_ = make_no_faults();
  std::unique_ptr<JobManager> job_manager_;
  Address address_;
};

TEST_F(JobManagerTest, RunsAJobFromSubmissionToItsEnd) {
  auto first = task_manager(1);
  auto second = task_manager(2);
  auto user = client();
  const JobId id = submit(*user);
  const auto on_first = deployment(*first);
  const auto on_second = deployment(*second);
  EXPECT_EQ(on_first.tasks_size(), 2);
  EXPECT_EQ(on_first.job().module_hash(), content_hash(kModule));
  ASSERT_EQ(on_first.groups_size(), 1);
  ASSERT_EQ(on_first.groups(0).task_managers_size(), 2);
  EXPECT_EQ(on_first.groups(0).task_managers(1).port(), 4002u);

  report(*first, on_first, TaskState::kRunning);
  report(*second, on_second, TaskState::kRunning);
  EXPECT_EQ(get(*user, id).job().tasks_running(), 4u);
  report(*first, on_first, TaskState::kEndOfData, "a");
  EXPECT_EQ(state_of(id), JobState::kRunning);
  report(*second, on_second, TaskState::kEndOfData, "b");
  EXPECT_EQ(state_of(id), JobState::kCommitting);
  for (Peer* peer : {first.get(), second.get()}) {
    const proto::Envelope commit = peer->take_last();
    ASSERT_TRUE(commit.has_commit());
    proto::Envelope done;
    fill(done.mutable_commit_done()->mutable_job(), id);
    done.mutable_commit_done()->set_commit_id(commit.commit().commit_id());
    peer->send(done);
  }
  EXPECT_EQ(state_of(id), JobState::kFinished);
  EXPECT_TRUE(first->received(proto::Envelope::kFinishTasks));
  EXPECT_TRUE(first->received(proto::Envelope::kReleaseJob));
  const auto reply = get(*user, id);
  EXPECT_EQ(reply.job().state(), static_cast<uint32_t>(JobState::kFinished));
  EXPECT_GT(reply.job().ended_epoch_ms(), 0);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 2u);
  EXPECT_TRUE(reply.job().tidying());
  released(*first, id);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 3u);
  released(*second, id);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 4u);
  EXPECT_FALSE(get(*user, id).job().tidying());
}

TEST_F(JobManagerTest, DeploysAWaitingJobWhenTheSlotsOfTheLastOneAreReleased) {
  auto worker = task_manager(1);
  auto user = client();
  const JobId ends = submit(*user);
  const auto deployed = deployment(*worker);
  const JobId waits = submit(*user);
  report(*worker, deployed, TaskState::kEndOfData);
  ASSERT_EQ(state_of(ends), JobState::kFinished);
  report(*worker, deployed, TaskState::kFinished);
  EXPECT_EQ(state_of(waits), JobState::kCreated);
  EXPECT_FALSE(worker->received(proto::Envelope::kDeployTasks));
  released(*worker, waits);  // It has not ended: says nothing.
  EXPECT_EQ(state_of(waits), JobState::kCreated);
  released(*worker, ends);
  EXPECT_EQ(state_of(waits), JobState::kRunning);
  EXPECT_TRUE(worker->received(proto::Envelope::kDeployTasks));
}

TEST_F(JobManagerTest, ClosedConnectionOfATaskManagerRestartsItsJobs) {
  auto first = task_manager(1);
  auto second = task_manager(2);
  auto user = client();
  const JobId id = submit(*user);
  const auto on_first = deployment(*first);
  second->close();
  EXPECT_EQ(state_of(id), JobState::kRestarting);
  EXPECT_TRUE(first->received(proto::Envelope::kCancelTasks));
  first->take();
  report(*first, on_first, TaskState::kCanceled);
  EXPECT_EQ(state_of(id), JobState::kRunning);  // The first one has two slots.
  const auto again = deployment(*first);
  EXPECT_EQ(again.tasks(0).attempt().attempt(), 1u);
  EXPECT_TRUE(on_first.check());
  EXPECT_TRUE(again.check());  // The first attempt never ran everywhere.
  EXPECT_EQ(get(*user, id).job().restarts(), 1u);
}

TEST_F(JobManagerTest, ATaskManagerThatCrashesIsLostWithWhatItSaidOfThat) {
  auto first = task_manager(1);
  auto peer = client();
  const JobId job = submit(*peer);
  proto::Envelope envelope;
  proto::TaskManagerCrashes* crash = envelope.mutable_task_manager_crashes();
  crash->set_reason("SIGSEGV at address 0x0");
  control_messages::write(job, crash->mutable_job());
  crash->set_code_name(std::string(1 << 20, 'x') + "\xff");
  for (int i = 0; i < 1000; ++i) crash->add_frames(std::string(1 << 12, 'f'));
  first->send(envelope);
  EXPECT_TRUE(first->closed());
  const JobFailure& failure = job_manager_->jobs().find(job)->master->history().failures().front();
  EXPECT_THAT(failure.cause.message(), HasSubstr("brought down tm ("));
  EXPECT_THAT(failure.cause.message(), HasSubstr("SIGSEGV at address 0x0"));
  EXPECT_LT(failure.cause.message().size(), 5000u);
  EXPECT_LT(failure.details.size(), 50u << 10);
  EXPECT_GT(failure.details.size(), 40u << 10);
}

TEST_F(JobManagerTest, TheNextTaskManagerCleansUpWhatTheLastOneLeftBeforeItGetsAJob) {
  start({"restart-strategy.type=none"});
  auto lost = task_manager(1);
  auto user = client();
  const JobId id = submit(*user);
  lost->close();
  EXPECT_EQ(state_of(id), JobState::kFailed);
  EXPECT_FALSE(get(*user, id).job().tidying());  // Nobody can do it now.
  const JobId waits = submit(*user);
  auto next = greeted_task_manager(2);
  EXPECT_EQ(clean_ups(*next), std::vector<JobId>{id});
  EXPECT_TRUE(get(*user, id).job().tidying());
  released(*next, id);  // Of the release before, which says nothing of the clean-up.
  EXPECT_EQ(state_of(waits), JobState::kCreated);
  released(*next, id, true);
  EXPECT_FALSE(get(*user, id).job().tidying());
  EXPECT_EQ(state_of(waits), JobState::kRunning);
  auto third = greeted_task_manager(3);
  EXPECT_TRUE(clean_ups(*third).empty());
}

TEST_F(JobManagerTest, AnotherTaskManagerCleansUpWhenTheOneThatWasToldToGoesToo) {
  auto first = task_manager(1);
  auto second = task_manager(2);
  auto user = client();
  const JobId id = submit(*user);
  const auto on_first = deployment(*first);
  const auto on_second = deployment(*second);
  report(*first, on_first, TaskState::kEndOfData);
  report(*second, on_second, TaskState::kEndOfData);
  ASSERT_EQ(state_of(id), JobState::kFinished);
  released(*first, id);
  EXPECT_TRUE(clean_ups(*first).empty());
  second->close();
  EXPECT_EQ(clean_ups(*first), std::vector<JobId>{id});
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 0u);
  first->close();
  auto third = greeted_task_manager(3);
  EXPECT_EQ(clean_ups(*third), std::vector<JobId>{id});
  released(*third, id, true);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 2u);
}

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

TEST_F(JobManagerTest, JobWithoutSlotsSaysWhatItNeedsAndFails) {
  auto user = client();
  const JobId id = submit(*user);
  EXPECT_EQ(get(*user, id).job().waiting_for(), "2 slots, the cluster has 0");
  executor_.advance(10s);
  const auto reply = get(*user, id);
  EXPECT_EQ(reply.job().state(), static_cast<uint32_t>(JobState::kFailed));
  EXPECT_THAT(reply.job().cause().message(), HasSubstr("needs 2 slots, the cluster has 0"));
}

TEST_F(JobManagerTest, CancelsAJobAndListsIt) {
  auto user = client();
  const JobId id = submit(*user);
  proto::Envelope envelope;
  fill(envelope.mutable_cancel_job()->mutable_job(), id);
  user->send(envelope);
  EXPECT_EQ(user->take_last().cancel_job_reply().status().code(), 0u);
  user->send(envelope);
  EXPECT_THAT(user->take_last().cancel_job_reply().status().message(), HasSubstr("ended already"));
  proto::Envelope list;
  list.mutable_list_jobs();
  user->send(list);
  const auto jobs = user->take_last().list_jobs_reply();
  ASSERT_EQ(jobs.jobs_size(), 1);
  EXPECT_EQ(jobs.jobs(0).state(), static_cast<uint32_t>(JobState::kCanceled));
}

TEST_F(JobManagerTest, RefusesWrongRequestsOfClientsAndKeepsThem) {
  auto user = client();
  EXPECT_EQ(get(*user, JobId{1, 2}).status().code(), static_cast<uint32_t>(StatusCode::kNotFound));
  user->send(submission());  // Without its module.
  EXPECT_THAT(user->take_last().submit_job_reply().status().message(), HasSubstr("no module"));
  put_module(*user);
  proto::Envelope broken = submission();
  broken.mutable_submit_job()->mutable_graph()->mutable_edges(0)->set_consumer(9);
  user->send(broken);
  EXPECT_NE(user->take_last().submit_job_reply().status().code(), 0u);
  proto::Envelope settings = submission();
  (*settings.mutable_submit_job()
        ->mutable_build()
        ->mutable_configuration())["restart-strategy.type"] = "sometimes";
  user->send(settings);
  EXPECT_THAT(user->take_last().submit_job_reply().status().message(), HasSubstr("sometimes"));
  proto::Envelope huge = submission();
  huge.mutable_submit_job()->mutable_graph()->mutable_vertices(0)->set_parallelism(1u << 31);
  user->send(huge);
  EXPECT_NE(user->take_last().submit_job_reply().status().code(), 0u);
  EXPECT_FALSE(user->closed());
  EXPECT_TRUE(job_manager_->jobs().jobs().empty());
}

TEST_F(JobManagerTest, ShowsTheCluster) {
  auto worker = task_manager(7, 3);
  auto user = client();
  proto::Envelope envelope;
  envelope.mutable_get_cluster();
  user->send(envelope);
  const auto cluster = user->take_last().get_cluster_reply();
  ASSERT_EQ(cluster.task_managers_size(), 1);
  EXPECT_EQ(cluster.task_managers(0).slots_free(), 3u);
  EXPECT_EQ(cluster.task_managers(0).data_address(), "127.0.0.1:4007");
}

TEST_F(JobManagerTest, GivesABlobInChunks) {
  auto peer = connect();
  peer->hello(proto::Hello::BLOB_CLIENT);
  put_module(*peer);
  proto::Envelope envelope;
  envelope.set_request_id(5);
  envelope.mutable_get_blob()->set_hash(content_hash(kModule));
  peer->send(envelope);
  const proto::Envelope chunk = peer->take_last();
  EXPECT_EQ(chunk.request_id(), 5u);
  EXPECT_EQ(chunk.blob_chunk().data(), kModule);
  EXPECT_TRUE(chunk.blob_chunk().last());
  envelope.mutable_get_blob()->set_hash("../secret");
  peer->send(envelope);
  EXPECT_EQ(peer->take_last().blob_chunk().status().code(),
            static_cast<uint32_t>(StatusCode::kNotFound));
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
                p.hello(proto::Hello::TASK_MANAGER, "correct", std::string(1 << 20, 'v'));
              }),
              SizeIs(Lt(300u)));
  refused([](Peer& p) { p.hello(proto::Hello::UNKNOWN, "correct"); });
  auto good = connect();
  good->hello(proto::Hello::CLIENT, "correct");
  EXPECT_EQ(good->take_last().hello_reply().status().code(), 0u);
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

TEST_F(JobManagerTest, RefusesSettingsThatMakeNoSense) {
  JobManager::Options options;
  options.bind = Address{"127.0.0.1", 0};
  ASSERT_TRUE(options.configuration.set("heartbeat.timeout", "1 ms").ok());
  JobManager broken(options, transport_, executor_, executor_, clock_, *random_, files_, *faults_);
  EXPECT_EQ(broken.start().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet
