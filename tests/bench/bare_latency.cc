#include "tests/bench/bare_latency.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/app/process_host.h"
#include "tests/bench/interruption.h"
#include "tests/bench/loopback_socket.h"

namespace freshet::bench {

namespace {

constexpr size_t kBlockBytes = 32u << 10;
constexpr size_t kReadBytes = 256u << 10;

class BareWriter {
 public:
  explicit BareWriter(int socket) : socket_(socket), block_(kBlockBytes) {}

  bool put(TimePoint due) {
    if (used_ == kBlockBytes && !flush()) return false;
    const int64_t nanos = due.time_since_epoch().count();
    std::memcpy(&block_[used_], &nanos, sizeof(nanos));
    used_ += sizeof(nanos);
    return true;
  }

  bool flush() {
    size_t sent = 0;
    while (sent < used_) {
      const ssize_t written = write(socket_, &block_[sent], used_ - sent);
      if (written < 0) return false;
      sent += static_cast<size_t>(written);
    }
    used_ = 0;
    return true;
  }

 private:
  const int socket_;
  std::vector<char> block_;
  size_t used_ = 0;
};

[[noreturn]] void write_in_child(pid_t parent, const sockaddr_in& address,
                                 const LatencyLoad& load) {
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) signal(one, SIG_DFL);
  if (!end_with_parent(parent).ok()) _exit(1);
  const int out = connect_without_delay(address);
  if (out < 0) _exit(1);
  BareWriter writer(out);
  _exit(write_paced(load, *make_system_clock(), writer) ? 0 : 1);
}

Status read_to_end(int in, const Clock& clock, LatencyNotes& notes) {
  std::vector<char> memory(kReadBytes);
  size_t held = 0;
  while (true) {
    const ssize_t got = read(in, &memory[held], memory.size() - held);
    RETURN_IF_ERROR(check_interrupted());
    if (got < 0) return system_error("the bare reader reads");
    if (got == 0) return Status();
    const TimePoint now = clock.now();
    held += static_cast<size_t>(got);
    size_t at = 0;
    for (int64_t nanos = 0; held - at >= sizeof(nanos); at += sizeof(nanos)) {
      std::memcpy(&nanos, &memory[at], sizeof(nanos));
      notes.add(TimePoint(Duration(nanos)), now);
    }
    held -= at;
    std::memmove(memory.data(), &memory[at], held);
  }
}

}  // namespace

Result<LatencyTaken> measure_bare_latency(const LatencyLoad& load) {
  RETURN_IF_ERROR(check_interrupted());
  sockaddr_in address{};
  ASSIGN_OR_RETURN(const int listener, listen_on_loopback(&address));
  const std::unique_ptr<Clock> clock = make_system_clock();
  LatencyNotes notes(load);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) write_in_child(parent, address, load);
  const int in = accept(listener, nullptr, nullptr);
  Status status = in < 0 ? system_error("the bare reader accepts") : read_to_end(in, *clock, notes);
  if (!status.ok()) kill(child, SIGKILL);
  close(in);
  close(listener);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
  RETURN_IF_ERROR(status);
  if (ended != 0) return internal_error("the bare writer cannot send so many records");
  return notes.taken();
}

}  // namespace freshet::bench
