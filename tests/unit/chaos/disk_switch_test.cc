#include "runtime/chaos/disk_switch.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/base/faulty_file_system.h"
#include "runtime/base/memory_file_system.h"

namespace freshet::chaos {
namespace {

class DiskSwitchTest : public ::testing::Test {
 protected:
  DiskSwitchTest() {
    std::string name = std::filesystem::temp_directory_path() / "switch-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    switch_ = *DiskSwitch::create(directory_ + "/disk");
    disk_ = std::make_unique<FaultyFileSystem>(
        std::make_unique<MemoryFileSystem>(), *map_disk_switches(directory_ + "/disk"),
        std::vector<FaultyFileSystem::Place>{{"/state", DiskFiles::kTemporary}});
    EXPECT_TRUE(disk_->create_directories("/state").ok());
  }
  ~DiskSwitchTest() override { std::filesystem::remove_all(directory_); }

  Status write() { return disk_->write_atomically("/state/a", "0123456789"); }

  std::string directory_;
  std::unique_ptr<DiskSwitch> switch_;
  std::unique_ptr<FaultyFileSystem> disk_;
};

TEST_F(DiskSwitchTest, IsForOneProcess) {
  EXPECT_EQ(switch_->arguments(), (std::vector<std::string>{"--allow-faults", "-D",
                                                            "test.disk=" + directory_ + "/disk"}));
  EXPECT_EQ(DiskSwitch::create(directory_ + "/disk").status().code(), StatusCode::kAlreadyExists);
}

TEST_F(DiskSwitchTest, FillsAndMends) {
  switch_->fill(DiskFiles::kTemporary);
  EXPECT_EQ(write().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(switch_->met(DiskFiles::kTemporary), 1u);
  switch_->mend(DiskFiles::kTemporary);
  EXPECT_TRUE(write().ok());
  EXPECT_EQ(switch_->met(DiskFiles::kTemporary), 1u);
}

TEST_F(DiskSwitchTest, FailsAndMends) {
  switch_->fail(DiskFiles::kTemporary);
  EXPECT_EQ(write().code(), StatusCode::kUnavailable);
  switch_->mend(DiskFiles::kTemporary);
  EXPECT_TRUE(write().ok());
}

TEST_F(DiskSwitchTest, SlowsDownByAtLeastAMillisecond) {
  switch_->slow_down(DiskFiles::kTemporary, 1us);
  EXPECT_TRUE(write().ok());
  EXPECT_GE(switch_->met(DiskFiles::kTemporary), 4u);
  EXPECT_EQ(switch_->met(DiskFiles::kModules), 0u);
}

}  // namespace
}  // namespace freshet::chaos
