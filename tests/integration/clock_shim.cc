// Preloaded into a process: its wall clock is off by the seconds that stand in the file
// $CLOCK_OFFSET_FILE, now. No other clock is touched.

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

long offset_seconds() {
  const char* const path = std::getenv("CLOCK_OFFSET_FILE");
  char text[32] = "";
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  return size > 0 ? std::atol(text) : 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += offset_seconds();
  return static_cast<int>(result);
}
