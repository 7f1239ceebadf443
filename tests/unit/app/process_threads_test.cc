#include "runtime/app/process_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

using ::testing::MatchesRegex;

TEST(ProcessThreadsTest, SayWhatTheyDoAndWhereTheyWait) {
  const std::string rest = " 1 4711 4711 0 -1 4194304 100 0 0 0 " +
                           std::to_string(2 * sysconf(_SC_CLK_TCK)) +
                           " 0 0 0 20 0 12 0 5000 1000000 256 0\n";
  EXPECT_EQ(thread_line("a b", "4712 (a b) S" + rest, "futex_wait"),
            "\"a b\" Id=4712 SLEEPING cpu=2000ms in futex_wait");
  EXPECT_EQ(thread_line("a) R", "4712 (a) R) D" + rest, "0"),
            "\"a) R\" Id=4712 WAITING_FOR_DISK cpu=2000ms");
  EXPECT_EQ(thread_line("a", "4712 (a) R" + rest, ""), "\"a\" Id=4712 RUNNING cpu=2000ms");
  for (const char* gone : {"", "4712", "4712 (a)", "4712 (a) R"})
    EXPECT_EQ(thread_line("a", gone, ""), std::nullopt) << gone;
}

TEST(ProcessThreadsTest, AreThoseOfTheProcess) {
  const auto files = make_local_file_system();
  const auto threads = threads_of("self", *files);
  ASSERT_TRUE(threads.ok()) << threads.status().to_string();
  EXPECT_THAT((*threads)[0].text, MatchesRegex("\"" + (*threads)[0].name + "\" Id=" +
                                               std::to_string(getpid()) + " .* cpu=[0-9]+ms.*"));
  EXPECT_FALSE(threads_of("0", *files).ok());
  MemoryFileSystem none;
  ASSERT_TRUE(none.create_directories("/proc/4711/task").ok());
  EXPECT_EQ(threads_of("4711", none).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace freshet
