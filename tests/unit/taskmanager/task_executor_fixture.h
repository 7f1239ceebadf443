#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/task/executor_task_runner.h"
#include "runtime/task/replay.h"
#include "taskmanager/task_executor.h"
#include "tests/unit/taskmanager/deployments.h"
#include "tests/unit/taskmanager/scripted_job_manager.h"

namespace freshet::taskmanager_test {

/// A TaskExecutor and a scripted JobManager in one thread, over the in-process transport and the
/// real data plane.
class TaskExecutorTest : public ::testing::Test {
 protected:
  explicit TaskExecutorTest(const std::string& bind_host = "127.0.0.1",
                            uint16_t external_data_port = 0) {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{77};
    options.bind = Address{bind_host, 0};
    options.unix_bind = Address::parse("unix:@data").value();
    options.pool_bytes = 1 << 20;
    options.store = SpillPlace{&files_, "/state/partitions", &main_, {}};
    auto shuffle = ShuffleEnvironment::create(options, transport_);
    EXPECT_TRUE(shuffle.ok()) << shuffle.status().to_string();
    shuffle_ = std::move(shuffle).value();
    manager_.blobs[content_hash(kModule)] = kModule;
    TaskExecutor::Options task_executor;
    task_executor.id = TaskManagerId{77};
    task_executor.slots = 2;
    task_executor.job_manager = manager_.address();
    task_executor.external_data_port = external_data_port;
    task_executor.state_directory = "/state";
    task_executor.channel_hash = true;
    task_executor.labels = {{"host", "here"}, {"tm_id", "77"}};
    executor_ = std::make_unique<TaskExecutor>(
        task_executor,
        TaskExecutor::Environment{transport_, main_, tasks_, main_, loader_, files_, clock_,
                                  *random_, *shuffle_, nullptr, &recorder_,
                                  [this](const Status& status) { fatal_.push_back(status); },
                                  &metrics_, [] { return TaskManagerNumbers{{.threads = 7}}; }});
    main_.post("start", [this] { executor_->start(); });
    main_.run_ready();
  }

  ~TaskExecutorTest() override {
    destroy();
    shuffle_->shut_down();
    main_.run_ready();
    EXPECT_EQ(shuffle_->free_bytes(), shuffle_->total_bytes());
    shuffle_.reset();
  }

  void destroy() {
    if (!executor_) return;
    bool stopped = false;
    main_.post("stop", [&] { executor_->stop([&] { stopped = true; }); });
    settle();
    EXPECT_TRUE(stopped);
    main_.post("destroy", [&] { executor_.reset(); });
    main_.run_ready();
  }

  void settle() { main_.advance(2s); }
  void deploy(AttemptNumber attempt = 0, bool check = false) {
    manager_.send(
        taskmanager_test::deployment(TaskManagerId{77}, shuffle_->data_address(), attempt, check));
    settle();
  }
  template <class Fill>
  void tell(Fill fill) {
    proto::Envelope envelope;
    fill(envelope);
    manager_.send(envelope);
    settle();
  }
  void cancel(AttemptNumber attempt = 0) {
    tell([&](proto::Envelope& envelope) {
      for (uint32_t vertex : {0, 1})
        to_proto(attempt_of(vertex, attempt), envelope.mutable_cancel_tasks()->add_attempts());
    });
  }
  void release() {
    tell([](proto::Envelope& envelope) {
      to_proto(kJob, envelope.mutable_release_job()->mutable_job());
    });
  }
  static proto::Envelope clean_up_order() {
    proto::Envelope envelope;
    to_proto(kJob, envelope.mutable_release_job()->mutable_job());
    taskmanager_test::fill_job(envelope.mutable_release_job()->mutable_clean_up());
    return envelope;
  }
  std::string module_path() const { return "/state/modules/" + content_hash(kModule) + ".so"; }

  ManualClock clock_;
  ManualExecutor main_{clock_};
  LocalTransport transport_{main_};
  MemoryFileSystem files_;
  ExecutorTaskRunner tasks_{main_};
  std::unique_ptr<Random> random_ = make_seeded_random(5);
  std::shared_ptr<JobScript> script_ = std::make_shared<JobScript>();
  taskmanager_test::ScriptLoader loader_{script_};
  MemoryTaskRecorder recorder_;
  MetricRegistry metrics_;
  ScriptedJobManager manager_{transport_, main_, Address{"127.0.0.1", 0}};
  std::unique_ptr<ShuffleEnvironment> shuffle_;
  std::vector<Status> fatal_;
  std::unique_ptr<TaskExecutor> executor_;
};

}  // namespace freshet::taskmanager_test
