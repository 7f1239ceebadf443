#include "runtime/app/descriptor_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace freshet {
namespace {

/// In a child: what is closed stays so. Its exit code says what the watch saw.
template <class Function>
void expect_exit_code(int code, Function function) {
  EXPECT_EXIT(_exit(function()), ::testing::ExitedWithCode(code), "");
}

TEST(DescriptorWatchTest, SeesThatItsDescriptorWasClosed) {
  expect_exit_code(10, [] {
    const DescriptorWatch watch;
    const int before = watch.intact() ? 10 : 20;
    for (int descriptor = 3; descriptor < 1000; ++descriptor) close(descriptor);
    return watch.intact() ? 30 : before;
  });
}

TEST(DescriptorWatchTest, SeesThatItsNumberIsAnothersNow) {
  expect_exit_code(0, [] {
    const DescriptorWatch watch;
    for (int descriptor = 3; descriptor < 1000; ++descriptor) {
      close(descriptor);
      if (dup(STDERR_FILENO) < 0) return 40;
    }
    return watch.intact() ? 30 : 0;
  });
  expect_exit_code(0, [] {
    const DescriptorWatch watch;
    int ends[2];
    if (pipe(ends) != 0) return 40;
    for (int descriptor = 3; descriptor < ends[0]; ++descriptor) dup2(ends[0], descriptor);
    return watch.intact() ? 30 : 0;
  });
}

TEST(DescriptorWatchTest, OccupiesWhatIsFreeAndLeavesSome) {
  expect_exit_code(0, [] {
    close(5);
    DescriptorWatch::occupy_free_numbers();
    const int next = dup(STDERR_FILENO);
    return next > 900 || (next > 100 && sysconf(_SC_OPEN_MAX) < 1000) ? 0 : 50;
  });
}

}  // namespace
}  // namespace freshet
