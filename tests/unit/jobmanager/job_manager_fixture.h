#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "jobmanager/job_manager.h"
#include "network/local_transport.h"
#include "runtime/base/hash.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/proto/control.pb.h"
#include "tests/unit/jobmanager/test_jobs.h"
#include "tests/unit/jobmanager/test_peer.h"

namespace freshet {

inline const std::string kModule = "not really a shared object";

/// What another one says, but for its wall clock, which jumps when it is told to.
class JumpingClock final : public Clock {
 public:
  explicit JumpingClock(const Clock& steady) : steady_(steady) {}
  TimePoint now() const override { return steady_.now(); }
  EpochMillis epoch_millis() const override { return steady_.epoch_millis() + ahead_; }
  void jump(EpochMillis by) { ahead_ += by; }

 private:
  const Clock& steady_;
  EpochMillis ahead_ = 0;
};

/// A JobManager, and peers that say what the test wants, in one thread.
class JobManagerTest : public testing::Test {
 protected:
  JobManagerTest() { start({}); }
  ~JobManagerTest() override { stop(); }

  void start(const std::vector<std::string>& settings, Duration explanation_patience = {}) {
    stop();
    JobManager::Options options;
    options.bind = Address{"127.0.0.1", 0};
    options.state_dir = "/state";
    options.explanation_patience = explanation_patience;
    for (const auto& pair : settings) ASSERT_TRUE(options.configuration.set_pair(pair).ok());
    job_manager_ = std::make_unique<JobManager>(options, transport_, executor_, executor_, wall_,
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
  JumpingClock wall_{clock_};
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  MemoryFileSystem files_;
  std::unique_ptr<Random> random_ = make_seeded_random(3);
  std::unique_ptr<Faults> faults_ = make_no_faults();
  std::unique_ptr<JobManager> job_manager_;
  Address address_;
};

}  // namespace freshet
