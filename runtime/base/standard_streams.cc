#include "runtime/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace freshet {

void occupy_closed_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest number that is free, which is this one.
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int silence_standard_streams() {
  const int before = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (nowhere >= 0) (void)::dup2(nowhere, stream);
  }
  return before;
}

int keep_standard_output() {
  std::cout.flush();
  (void)std::fflush(stdout);
  const int before = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (before >= 0) (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
  return before;
}

Status flush_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0 && std::cout.good()) return Status();
  const int error = errno;
  return unavailable(std::string("standard output cannot be written") +
                     (error == 0 ? "" : std::string(": ") + std::strerror(error)));
}

}  // namespace freshet
