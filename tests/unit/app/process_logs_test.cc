#include "runtime/app/process_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProcessLogsTest : public ::testing::Test {
 protected:
  ProcessLogsTest() {
    for (const char* name : {"taskmanager-1.log", "taskmanager-1.1.log", "taskmanager-1.out",
                             "taskmanager-10.log", "taskmanager-1.port", "secret", "state"}) {
      files_.put(std::string("/c/") + name, std::string(name) + "\n");
    }
  }

  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto found = log_files("/c/taskmanager-1.log", files_).value();
    for (const LogFileView& file : found) names.push_back(file.name);
    return names;
  }

  MemoryFileSystem files_;
};

TEST_F(ProcessLogsTest, AreThoseOfOneProcess) {
  EXPECT_THAT(names(),
              ElementsAre("taskmanager-1.1.log", "taskmanager-1.log", "taskmanager-1.out"));
  EXPECT_EQ(log_files("", files_).status().code(), StatusCode::kNotFound);
}

TEST_F(ProcessLogsTest, ShowNoOtherFile) {
  EXPECT_EQ(log_text("/c/taskmanager-1.log", "taskmanager-1.1.log", files_).value(),
            "taskmanager-1.1.log\n");
  for (const char* name :
       {"secret", "../c/secret", "taskmanager-10.log", "", "taskmanager-1.port"}) {
    EXPECT_EQ(log_text("/c/taskmanager-1.log", name, files_).status().code(), StatusCode::kNotFound)
        << name;
  }
}

TEST_F(ProcessLogsTest, ShowTheEndOfALongOne) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += std::to_string(i) + "\n";
  files_.put("/c/taskmanager-1.log", text);
  const std::string end = log_text("/c/taskmanager-1.log", "taskmanager-1.log", files_).value();
  EXPECT_LT(end.size(), kLogTextBytesMax);
  EXPECT_GT(end.size(), kLogTextBytesMax - 10);
  EXPECT_TRUE(text.ends_with("\n" + end));
}

}  // namespace
}  // namespace freshet
