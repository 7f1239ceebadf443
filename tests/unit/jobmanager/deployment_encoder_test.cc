#include "jobmanager/deployment_encoder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "jobmanager/control_messages.h"
#include "jobmanager/deployment.h"
#include "network/message_channel.h"
#include "runtime/proto/control.pb.h"
#include "tests/unit/jobmanager/job_script.h"

namespace freshet {
namespace {

constexpr uint32_t kPerTaskManager = 10;

std::vector<TaskManagerInfo> task_managers(uint32_t count) {
  std::vector<TaskManagerInfo> all;
  for (uint32_t i = 0; i < count; i++) {
    TaskManagerInfo info;
    info.id = TaskManagerId{i + 1};
    info.host_id = "machine";
    if (i == 1) info.unix_address = "unix:/run/data.socket";
    info.data_host = "host-" + std::to_string(i);
    info.data_port = static_cast<uint16_t>(4000 + i);
    all.push_back(info);
  }
  return all;
}

std::vector<job_commands::DeployTasks> deployment(uint32_t parallelism,
                                                  uint32_t per_task_manager = kPerTaskManager,
                                                  Partitioning partitioning = Partitioning::kHash) {
  ExecutionGraph graph(two_vertices(parallelism, parallelism, partitioning));
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    const uint32_t index = graph.subtask_at(i).index;
    graph.assign(i, AllocationId{i + 1}, TaskManagerId{index / per_task_manager + 1},
                 index % per_task_manager);
  }
  std::vector<uint32_t> all(graph.task_count());
  std::iota(all.begin(), all.end(), 0u);
  LocatedGroups located;
  return build_deployment(graph, JobId{0, 1}, true, all, &located);
}

class DeploymentEncoderTest : public testing::Test {
 protected:
  std::shared_ptr<const std::string> information_ = std::make_shared<const std::string>(
      control_messages::encode_job_information(JobScript(two_vertices()).job()));
};

TEST_F(DeploymentEncoderTest, SaysAllThatADeploymentHas) {
  const auto commands = deployment(20);
  DeploymentEncoder encoder(information_, task_managers(2));
  ASSERT_EQ(commands.size(), 2u);
  proto::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(encoder.encode(commands[1])));
  const proto::DeployTasks& message = envelope.deploy_tasks();
  EXPECT_TRUE(message.check());
  EXPECT_EQ(message.job().SerializeAsString(), *information_);
  EXPECT_EQ(message.job().name(), "word count");
  ASSERT_EQ(message.groups_size(), 1);
  ASSERT_EQ(message.groups(0).task_managers_size(), 2);
  EXPECT_EQ(message.groups(0).task_managers(1).task_manager(), 2u);
  EXPECT_EQ(message.groups(0).task_managers(1).host(), "host-1");
  EXPECT_EQ(message.groups(0).task_managers(1).port(), 4001u);
  EXPECT_EQ(message.groups(0).task_managers(1).host_id(), "machine");
  EXPECT_EQ(message.groups(0).task_managers(1).unix_address(), "unix:/run/data.socket");
  EXPECT_EQ(message.groups(0).task_managers(0).host_id(), "");  // Of no use alone.
  ASSERT_EQ(message.groups(0).producers_size(), 2);
  EXPECT_EQ(message.groups(0).producers(1).begin(), 10u);
  EXPECT_EQ(message.groups(0).producers(1).end(), 20u);
  ASSERT_EQ(message.tasks_size(), 20);
  const proto::TaskDeployment& sink = message.tasks(19);
  EXPECT_EQ(control_messages::read(sink.attempt()),
            (AttemptId{JobId{0, 1}, SubtaskId{VertexId{1}, 19}, 0}));
  EXPECT_EQ(sink.allocation(), 40u);
  EXPECT_EQ(sink.slot(), 9u);
  ASSERT_EQ(sink.groups_size(), 1);
  EXPECT_EQ(sink.groups(0), 0u);
}

TEST_F(DeploymentEncoderTest, EncodesWhatTaskManagersShareOnce) {
  const uint32_t count = 100;
  const auto commands = deployment(count * kPerTaskManager);
  ASSERT_EQ(commands.size(), count);
  DeploymentEncoder encoder(information_, task_managers(count));
  std::string group;
  for (const auto& command : commands) {
    proto::Envelope envelope;
    ASSERT_TRUE(envelope.ParseFromString(encoder.encode(command)));
    ASSERT_EQ(envelope.deploy_tasks().groups_size(), 1);
    const std::string same = envelope.deploy_tasks().groups(0).SerializeAsString();
    if (group.empty()) group = same;
    EXPECT_EQ(same, group);
  }
  EXPECT_EQ(encoder.groups_encoded(), 1u);
}

/// However the slots are spread, with the longest addresses that may be.
TEST_F(DeploymentEncoderTest, NoMessageOfALargeJobComesNearTheLimit) {
  constexpr uint32_t kParallelism = 10'000;
  for (const uint32_t per_task_manager : {1u, 100u, kParallelism}) {
    auto infos = task_managers(kParallelism / per_task_manager);
    for (TaskManagerInfo& info : infos) {
      info.host_id = info.data_host = std::string(255, 'h');
      info.unix_address = "unix:/" + std::string(100, 's');
    }
    DeploymentEncoder encoder(information_, infos);
    const auto commands = deployment(kParallelism, per_task_manager);
    EXPECT_EQ(commands.size(), infos.size());
    for (size_t i = 0; i < commands.size(); i += commands.size() / 10 + 1) {
      EXPECT_LT(encoder.encode(commands[i]).size(), kMessageBytesMax / 4) << per_task_manager;
    }
  }
}

TEST_F(DeploymentEncoderTest, WhatOneTaskManagerGetsIsSplitAndEachPartStandsAlone) {
  constexpr uint32_t kParallelism = 65'536;
  for (const Partitioning partitioning : {Partitioning::kHash, Partitioning::kForward}) {
    const auto commands = deployment(kParallelism, kParallelism, partitioning);
    EXPECT_GT(commands.size(), 1u);
    DeploymentEncoder encoder(information_, task_managers(1));
    std::set<std::pair<uint32_t, uint32_t>> tasks;
    for (const auto& command : commands) {
      const std::string bytes = encoder.encode(command);
      EXPECT_LT(bytes.size(), kMessageBytesMax / 8);
      proto::Envelope envelope;
      ASSERT_TRUE(envelope.ParseFromString(bytes));
      const proto::DeployTasks& message = envelope.deploy_tasks();
      EXPECT_EQ(message.job().SerializeAsString(), *information_);
      for (const proto::TaskDeployment& task : message.tasks()) {
        const proto::AttemptProto& attempt = task.attempt();
        EXPECT_TRUE(tasks.insert({attempt.vertex(), attempt.subtask()}).second);
        ASSERT_EQ(task.groups_size(), static_cast<int>(attempt.vertex()));
        if (attempt.vertex() == 0) continue;
        ASSERT_LT(task.groups(0), static_cast<uint32_t>(message.groups_size()));
        const proto::GateGroup& group = message.groups(static_cast<int>(task.groups(0)));
        ASSERT_LE(group.producers(0).begin(), attempt.subtask());
        ASSERT_GT(group.producers(group.producers_size() - 1).end(), attempt.subtask());
      }
    }
    EXPECT_EQ(tasks.size(), 2 * kParallelism);
  }
}

TEST_F(DeploymentEncoderTest, CommitCarriesTheSameInformation) {
  const job_commands::Commit commit{TaskManagerId{1}, 300, {{OperatorId{7}, "part-0"}}};
  proto::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(control_messages::encode(commit, *information_)));
  EXPECT_EQ(envelope.commit().job().SerializeAsString(), *information_);
  EXPECT_EQ(envelope.commit().commit_id(), 300u);
  ASSERT_EQ(envelope.commit().committables_size(), 1);
  EXPECT_EQ(envelope.commit().committables(0).operator_id(), 7u);
  EXPECT_EQ(envelope.commit().committables(0).payload(), "part-0");
}

}  // namespace
}  // namespace freshet
