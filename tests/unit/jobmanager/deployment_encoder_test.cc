#include "jobmanager/deployment_encoder.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "jobmanager/control_messages.h"
#include "jobmanager/deployment.h"
#include "network/message_channel.h"
#include "runtime/base/hash.h"
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
                                                  Partitioning partitioning = Partitioning::kHash,
                                                  bool ended_producers = false) {
  JobGraph job = two_vertices(parallelism, parallelism, partitioning);
  if (ended_producers) job.edges[0].exchange = Exchange::kBlocking;
  ExecutionGraph graph(std::move(job));
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    const uint32_t index = graph.subtask_at(i).index;
    graph.assign(i, AllocationId{i + 1}, TaskManagerId{index / per_task_manager + 1},
                 index % per_task_manager);
    if (!ended_producers || i >= parallelism) continue;
    for (const TaskState state :
         {TaskState::kScheduled, TaskState::kDeploying, TaskState::kInitializing,
          TaskState::kRunning, TaskState::kEndOfData})
      graph.move(i, state);
  }
  std::vector<uint32_t> all(graph.task_count());
  std::iota(all.begin(), all.end(), 0u);
  LocatedGroups located;
  return build_deployment(graph, JobId{0, 1}, true, all, &located);
}

std::shared_ptr<const TaskManagerTable> table_of(const std::vector<TaskManagerInfo>& infos) {
  auto table = std::make_shared<TaskManagerTable>();
  for (const TaskManagerInfo& info : infos) table->emplace(info.id, info);
  return table;
}

class DeploymentEncoderTest : public testing::Test {
 protected:
  DeploymentEncoder encoder(const std::vector<TaskManagerInfo>& infos,
                            uint64_t offload_min = UINT64_MAX) const {
    return {information_, table_of(infos), groups_, offload_min};
  }

  static proto::DeployTasks decode(const std::string& bytes) {
    proto::Envelope envelope;
    EXPECT_TRUE(envelope.ParseFromString(bytes));
    return envelope.deploy_tasks();
  }

  const std::shared_ptr<EncodedGroups> groups_ = std::make_shared<EncodedGroups>();
  std::shared_ptr<const std::string> information_ = std::make_shared<const std::string>(
      control_messages::encode_job_information(JobScript(two_vertices()).job()));
};

TEST_F(DeploymentEncoderTest, SaysAllThatADeploymentHas) {
  const auto commands = deployment(20);
  ASSERT_EQ(commands.size(), 2u);
  const auto message = decode(encoder(task_managers(2)).encode(commands[1], false));
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
  EXPECT_EQ(message.groups(0).hash(), "");
  EXPECT_EQ(message.groups(0).first_producer(), 0u);
  ASSERT_EQ(message.groups(0).run_lengths_size(), 2);
  EXPECT_EQ(message.groups(0).run_lengths(1), 10u);
  ASSERT_EQ(message.groups(0).run_locations_size(), 2);
  EXPECT_EQ(message.groups(0).run_locations(1), 1u);
  EXPECT_EQ(message.groups(0).run_attempts_size(), 0);  // All are first ones.
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
  const DeploymentEncoder encoder = this->encoder(task_managers(count));
  std::string group;
  for (const auto& command : commands) {
    const auto message = decode(encoder.encode(command, false));
    ASSERT_EQ(message.groups_size(), 1);
    const std::string same = message.groups(0).SerializeAsString();
    if (group.empty()) group = same;
    EXPECT_EQ(same, group);
  }
  EXPECT_EQ(groups_->encodings(), 1u);
}

TEST_F(DeploymentEncoderTest, WhoKnowsTheJobAndTheGroupGetsTheirNames) {
  auto commands = deployment(1'000, 1'000, Partitioning::kHash, true);
  ASSERT_EQ(commands.size(), 1u);
  ASSERT_TRUE(commands[0].groups.at(0).group->kept);
  const DeploymentEncoder encoder = this->encoder(task_managers(1));
  const auto first = decode(encoder.encode(commands[0], false));
  EXPECT_FALSE(first.has_known_job());
  proto::GateGroup blob = first.groups(0);
  const std::string hash = blob.hash();
  blob.clear_hash();
  EXPECT_EQ(content_hash(blob.SerializeAsString()), hash);
  ASSERT_NE(groups_->find(hash), nullptr);
  EXPECT_EQ(*groups_->find(hash), blob.SerializeAsString());

  commands[0].groups[0].known = true;
  const auto next = decode(encoder.encode(commands[0], true));
  EXPECT_FALSE(next.has_job());
  EXPECT_EQ(next.known_job().low(), 1u);
  proto::GateGroup name;
  name.set_hash(hash);
  EXPECT_EQ(next.groups(0).SerializeAsString(), name.SerializeAsString());
  EXPECT_EQ(next.tasks_size(), first.tasks_size());
}

TEST_F(DeploymentEncoderTest, LargeGroupsAreLeftToBeFetchedWhileAnybodyHasThem) {
  auto commands = deployment(1'000, 1'000, Partitioning::kHash, true);
  const size_t bytes =
      groups_->get(commands[0].groups[0].group, *table_of(task_managers(1))).bytes->size();
  const auto sent = [&](uint64_t offload_min) {
    return decode(encoder(task_managers(1), offload_min).encode(commands[0], false)).groups(0);
  };
  EXPECT_NE(sent(bytes + 1).run_lengths_size(), 0);
  const proto::GateGroup left_out = sent(bytes);
  EXPECT_EQ(left_out.run_lengths_size(), 0);
  EXPECT_NE(groups_->find(left_out.hash()), nullptr);
  commands.clear();
  EXPECT_EQ(groups_->find(left_out.hash()), nullptr);
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
    const DeploymentEncoder encoder = this->encoder(infos);
    const auto commands = deployment(kParallelism, per_task_manager);
    EXPECT_EQ(commands.size(), infos.size());
    for (size_t i = 0; i < commands.size(); i += commands.size() / 10 + 1) {
      EXPECT_LT(encoder.encode(commands[i], false).size(), kMessageBytesMax / 4)
          << per_task_manager;
    }
  }
}

TEST_F(DeploymentEncoderTest, WhatOneTaskManagerGetsIsSplitAndEachPartStandsAlone) {
  constexpr uint32_t kParallelism = 65'536;
  for (const Partitioning partitioning : {Partitioning::kHash, Partitioning::kForward}) {
    const auto commands = deployment(kParallelism, kParallelism, partitioning);
    EXPECT_GT(commands.size(), 1u);
    const DeploymentEncoder encoder = this->encoder(task_managers(1));
    std::set<std::pair<uint32_t, uint32_t>> tasks;
    for (const auto& command : commands) {
      const std::string bytes = encoder.encode(command, false);
      EXPECT_LT(bytes.size(), kMessageBytesMax / 8);
      const proto::DeployTasks message = decode(bytes);
      EXPECT_EQ(message.job().SerializeAsString(), *information_);
      for (const proto::TaskDeployment& task : message.tasks()) {
        const proto::AttemptProto& attempt = task.attempt();
        EXPECT_TRUE(tasks.insert({attempt.vertex(), attempt.subtask()}).second);
        ASSERT_EQ(task.groups_size(), static_cast<int>(attempt.vertex()));
        if (attempt.vertex() == 0) continue;
        ASSERT_LT(task.groups(0), static_cast<uint32_t>(message.groups_size()));
        const proto::GateGroup& group = message.groups(static_cast<int>(task.groups(0)));
        ASSERT_LE(group.first_producer(), attempt.subtask());
        const auto& runs = group.run_lengths();
        ASSERT_GT(std::accumulate(runs.begin(), runs.end(), group.first_producer()),
                  attempt.subtask());
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
