#include "runtime/app/network_memory.h"

#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

class NetworkMemoryTest : public ::testing::Test {
 protected:
  void say(const std::string& text) { files_.put("/proc/meminfo", text); }
  std::string answer(const std::vector<std::string>& pairs, uint32_t task_managers = 1) {
    Configuration settings;
    for (const std::string& pair : pairs) EXPECT_TRUE(settings.set_pair(pair).ok());
    const auto memory = network_memory(settings, files_, task_managers);
    return memory.ok() ? std::to_string(memory->pool_bytes >> 20) + " " +
                             std::to_string(memory->gate_budget_bytes >> 20)
                       : memory.status().message();
  }

  MemoryFileSystem files_;
};

TEST_F(NetworkMemoryTest, IsWhatTheSettingsSay) {
  say("MemFree: 1 kB\nMemTotal:       1048576 kB\nMemAvailable: 7 kB\n");
  EXPECT_EQ(memory_limit(files_), (MemoryLimit{1ull << 30, "MemTotal"}));
  EXPECT_EQ(answer({}), "128 4");
  EXPECT_EQ(answer({"taskmanager.memory.network.size=1 gb"}), "1024 4");
  EXPECT_EQ(answer({"taskmanager.memory.network.size=512 mb"}, 2), "512 4");
}

TEST_F(NetworkMemoryTest, RefusesMoreThanTheMachineHas) {
  say("MemTotal:       1048576 kB\n");
  EXPECT_EQ(answer({"taskmanager.memory.network.size=1025 mb"}),
            "taskmanager.memory.network.size: '1025 mb' (1074790400 bytes) is more than the memory "
            "that it may use (MemTotal: 1073741824 bytes); set it to a part of what is left beside "
            "everything else, such as '128 mb'");
  EXPECT_NE(answer({"taskmanager.memory.network.size=513 mb"}, 2)
                .find("'513 mb' (537919488 bytes) for each of 2 TaskManagers is more"),
            std::string::npos);
}

TEST_F(NetworkMemoryTest, BelievesTheSettingsWhenTheKernelSaysNothing) {
  EXPECT_EQ(answer({"taskmanager.memory.network.size=1024 gb"}), "1048576 4");
  for (const char* text : {"", "MemTotal:", "MemTotal:  many kB\n", "MemTotal: 5 mb\n"}) {
    say(text);
    EXPECT_EQ(memory_limit(files_), std::nullopt) << text;
  }
}

TEST_F(NetworkMemoryTest, RefusesMoreThanAControlGroupAllows) {
  say("MemTotal:       1048576 kB\n");
  files_.put("/proc/self/cgroup", "0::/jobs/one\n");
  files_.put("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(memory_limit(files_), (MemoryLimit{1ull << 30, "MemTotal"}));
  files_.put("/sys/fs/cgroup/jobs/one/memory.max", "max\n");
  files_.put("/sys/fs/cgroup/jobs/memory.max", "268435456\n");
  EXPECT_EQ(memory_limit(files_), (MemoryLimit{256u << 20, "/sys/fs/cgroup/jobs/memory.max"}));
  EXPECT_NE(answer({"taskmanager.memory.network.size=257 mb"})
                .find("it may use (/sys/fs/cgroup/jobs/memory.max: 268435456 bytes)"),
            std::string::npos);
  files_.put("/sys/fs/cgroup/jobs/one/memory.max", "134217728\n");
  EXPECT_EQ(memory_limit(files_), (MemoryLimit{128u << 20, "/sys/fs/cgroup/jobs/one/memory.max"}));
}

TEST_F(NetworkMemoryTest, KnowsControlGroupsOfBothVersionsAndWithinAContainer) {
  say("MemTotal:       1048576 kB\n");
  files_.put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/one\n0::/\n");
  files_.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit(files_), (MemoryLimit{1ull << 30, "MemTotal"}));
  files_.put("/sys/fs/cgroup/memory/docker/one/memory.limit_in_bytes", "134217728\n");
  EXPECT_EQ(memory_limit(files_),
            (MemoryLimit{128u << 20, "/sys/fs/cgroup/memory/docker/one/memory.limit_in_bytes"}));
  files_.put("/sys/fs/cgroup/memory.max", "67108864");
  EXPECT_EQ(memory_limit(files_), (MemoryLimit{64u << 20, "/sys/fs/cgroup/memory.max"}));
}

TEST_F(NetworkMemoryTest, KeepsTheGateBudgetWithinThePool) {
  EXPECT_EQ(answer({"taskmanager.memory.network.size=2 mb"}), "2 2");  // The default gives way.
  EXPECT_EQ(
      answer({"taskmanager.network.memory.gate-budget=129 mb"}),
      "taskmanager.network.memory.gate-budget: '129 mb' is more than "
      "taskmanager.memory.network.size, which is '128 mb'; set it to at most as much, or that "
      "to more");
}

}  // namespace
}  // namespace freshet
