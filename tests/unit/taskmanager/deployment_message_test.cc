#include "taskmanager/deployment_message.h"

#include <gtest/gtest.h>

#include "runtime/base/hash.h"
#include "tests/unit/taskmanager/deployments.h"

namespace freshet {
namespace {

using taskmanager_test::deployment;

proto::DeployTasks good() {
  return deployment(TaskManagerId{1}, Address{"127.0.0.1", 99}).deploy_tasks();
}

TEST(ParseDeploymentTest, TakesWhatIsWhole) {
  const auto parsed = parse_deployment(good(), 1, "here");
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  ASSERT_EQ(parsed->tasks.size(), 2u);
  ASSERT_EQ(parsed->tasks[1].gates.size(), 1u);
  EXPECT_EQ(parsed->tasks[1].gates[0]->locations[0].address.port, 99);
  EXPECT_EQ(parsed->job.graph->vertices.size(), 2u);
}

TEST(ParseDeploymentTest, KeepsUnixSocketsOfItsOwnHostOnly) {
  proto::DeployTasks message = good();
  proto::TaskManagerLocation* location = message.mutable_groups(0)->mutable_task_managers(0);
  const auto parsed = [&] {
    return parse_deployment(message, 1, "here").value().tasks[1].gates[0]->locations[0];
  };
  EXPECT_FALSE(parsed().unix_address.has_value());
  location->set_unix_address("unix:/run/tm/data.socket");
  location->set_host_id("elsewhere");
  EXPECT_FALSE(parsed().unix_address.has_value());
  location->set_host_id("here");
  ASSERT_TRUE(parsed().unix_address.has_value());
  EXPECT_EQ(parsed().unix_address->unix_socket, "/run/tm/data.socket");
  EXPECT_EQ(parsed().address.port, 99);
  for (const std::string bad : {"127.0.0.1:80", "unix:data.socket", "/run/tm/data.socket"}) {
    location->set_unix_address(bad);
    EXPECT_FALSE(parse_deployment(message, 1, "here").ok()) << bad;
  }
}

TEST(ParseDeploymentTest, RefusesWhatNamesNothing) {
  using Damage = void (*)(proto::DeployTasks&);
  const Damage damages[] = {
      [](proto::DeployTasks& m) { m.mutable_tasks(0)->mutable_attempt()->set_vertex(2); },
      [](proto::DeployTasks& m) { m.mutable_tasks(0)->mutable_attempt()->set_subtask(1); },
      [](proto::DeployTasks& m) {
        m.mutable_tasks(0)->mutable_attempt()->mutable_job()->set_low(1);
      },
      [](proto::DeployTasks& m) { m.mutable_tasks(0)->set_slot(1); },
      [](proto::DeployTasks& m) { m.mutable_tasks(0)->add_groups(0); },
      [](proto::DeployTasks& m) { m.mutable_tasks(1)->clear_groups(); },
      [](proto::DeployTasks& m) { m.mutable_tasks(1)->set_groups(0, 1); },
      [](proto::DeployTasks& m) { *m.add_tasks() = m.tasks(0); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_dataset(1); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_run_lengths(0, 2); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_run_lengths(0, 0); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_run_lengths(0, 0xffffffff); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_first_producer(0xffffffff); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_run_locations(0, 1); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->clear_run_locations(); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->add_run_attempts(0); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->clear_run_lengths(); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->set_hash("../secret"); },
      [](proto::DeployTasks& m) { m.mutable_groups(0)->mutable_task_managers(0)->set_port(70000); },
      [](proto::DeployTasks& m) { m.mutable_job()->set_module_hash("../../etc/passwd"); },
      [](proto::DeployTasks& m) { m.mutable_job()->clear_graph(); },
      [](proto::DeployTasks& m) {
        to_proto(taskmanager_test::kJob, m.mutable_known_job());
        m.clear_job();
      },
  };
  for (size_t i = 0; i < std::size(damages); i++) {
    proto::DeployTasks message = good();
    damages[i](message);
    EXPECT_FALSE(parse_deployment(message, 1, "here").ok()) << "damage " << i;
  }
}

TEST(ParseDeploymentTest, TakesWhatItKnowsByItsName) {
  const proto::DeployTasks first = good();
  const auto whole = parse_deployment(first, 1, "here");
  ASSERT_TRUE(whole.ok());
  const std::string hash = content_hash("a group");
  proto::DeployTasks message = first;
  to_proto(taskmanager_test::kJob, message.mutable_known_job());
  message.clear_job();
  message.mutable_groups(0)->Clear();
  message.mutable_groups(0)->set_hash(hash);
  KnownDescriptors known;
  known.job = [&](const JobId& id) { return id == whole->job.id ? &whole->job : nullptr; };
  auto parsed = parse_deployment(message, 1, "here", known);
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->job.graph, whole->job.graph);
  EXPECT_FALSE(parsed->is_whole());
  EXPECT_EQ(parsed->groups[0].hash, hash);
  const auto blob = parse_group(first.groups(0).SerializeAsString(), *whole->job.graph, "here");
  ASSERT_TRUE(blob.ok());
  parsed->groups[0].group = *blob;
  ASSERT_TRUE(parsed->is_whole());
  ASSERT_TRUE(parsed->connect().ok());
  EXPECT_EQ(parsed->tasks[1].gates.at(0), *blob);

  known.group = [&](const JobId&, const std::string& name) {
    return name == hash ? *blob : nullptr;
  };
  EXPECT_TRUE(parse_deployment(message, 1, "here", known)->is_whole());
  EXPECT_FALSE(parse_group("no message", *whole->job.graph, "here").ok());
}

}  // namespace
}  // namespace freshet
