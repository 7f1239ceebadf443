#include "tests/bench/bare_network.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "tests/bench/loopback_socket.h"

namespace freshet::bench {

namespace {

constexpr uint32_t kBlockBytes = 32u << 10;
constexpr size_t kReadBytes = 256u << 10;
constexpr size_t kPiecesMax = 1024;
constexpr uint32_t kRecordsPerClockRead = 1024;

struct BlockHeader {
  uint32_t channel = 0;
  uint32_t bytes = 0;
};

Duration of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

Duration cpu_time_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return of(usage.ru_utime) + of(usage.ru_stime);
}

class BareWriter {
 public:
  BareWriter(int socket, const NetworkLoad& load)
      : socket_(socket), load_(load), memory_(uint64_t{blocks()} * kBlockBytes), used_(blocks()) {}

  bool run() {
    const uint64_t last = load_.records_of_writer();
    const std::unique_ptr<Clock> clock = make_system_clock();
    TimePoint flushed = clock->now();
    const uint64_t zeros = load_.records - load_.writers;
    uint32_t channel = 0;
    for (uint64_t i = 0; i < zeros; ++i) {
      if (!put(channel, 0)) return false;
      channel = channel + 1 == blocks() ? 0 : channel + 1;
      if (i % kRecordsPerClockRead != 0 || clock->now() - flushed < load_.flush) continue;
      if (!flush()) return false;
      flushed = clock->now();
    }
    for (uint32_t c = 0; c < blocks(); ++c) {
      if (!put(c, last)) return false;
    }
    return flush();
  }

 private:
  uint32_t blocks() const { return load_.writers * load_.channels; }
  char* block(uint32_t channel) { return memory_.data() + uint64_t{channel} * kBlockBytes; }

  bool put(uint32_t channel, uint64_t value) {
    if (used_[channel] == kBlockBytes && !send_full()) return false;
    uint32_t& used = used_[channel];
    if (used == 0) used = sizeof(BlockHeader);
    std::memcpy(block(channel) + used, &value, sizeof(value));
    used += sizeof(value);
    return true;
  }

  bool send_full() {
    return send([](uint32_t used) { return used == kBlockBytes; });
  }
  bool flush() {
    return send([](uint32_t used) { return used != 0; });
  }

  template <class Choose>
  bool send(Choose choose) {
    std::vector<iovec> pieces;
    for (uint32_t c = 0; c < blocks(); ++c) {
      if (!choose(used_[c])) continue;
      const BlockHeader header{c, used_[c] - static_cast<uint32_t>(sizeof(BlockHeader))};
      std::memcpy(block(c), &header, sizeof(header));
      pieces.push_back({block(c), used_[c]});
      used_[c] = 0;
    }
    return write_all(pieces);
  }

  bool write_all(std::vector<iovec>& pieces) {
    size_t at = 0;
    while (at < pieces.size()) {
      const size_t count = std::min(pieces.size() - at, kPiecesMax);
      ssize_t written = writev(socket_, &pieces[at], static_cast<int>(count));
      if (written < 0) return false;
      while (written > 0) {
        const auto part = std::min<size_t>(static_cast<size_t>(written), pieces[at].iov_len);
        pieces[at].iov_base = static_cast<char*>(pieces[at].iov_base) + part;
        pieces[at].iov_len -= part;
        written -= static_cast<ssize_t>(part);
        if (pieces[at].iov_len == 0) ++at;
      }
    }
    return true;
  }

  const int socket_;
  const NetworkLoad& load_;
  std::vector<char> memory_;
  std::vector<uint32_t> used_;
};

/// Counts the channels whose last value came.
class BareReader {
 public:
  BareReader(int socket, const NetworkLoad& load) : socket_(socket), load_(load) {}

  Status run() {
    const uint64_t last = load_.records_of_writer();
    std::vector<char> memory(2 * kReadBytes);
    size_t begin = 0;
    size_t end = 0;
    uint32_t ended = 0;
    uint64_t records = 0;
    while (ended < load_.writers * load_.channels) {
      std::memmove(memory.data(), memory.data() + begin, end - begin);
      end -= begin;
      begin = 0;
      const ssize_t got = read(socket_, memory.data() + end, memory.size() - end);
      if (got <= 0) return system_error("the bare reader reads");
      end += static_cast<size_t>(got);
      BlockHeader header;
      while (end - begin >= sizeof(header)) {
        std::memcpy(&header, memory.data() + begin, sizeof(header));
        if (end - begin < sizeof(header) + header.bytes) break;
        begin += sizeof(header);
        for (const size_t block_end = begin + header.bytes; begin < block_end; begin += 8) {
          uint64_t value = 0;
          std::memcpy(&value, memory.data() + begin, sizeof(value));
          ++records;
          if (value == last) [[unlikely]]
            ++ended;
        }
      }
    }
    const uint64_t sent = load_.records - load_.writers + load_.writers * load_.channels;
    return records == sent ? Status() : data_loss("the bare reader missed values");
  }

 private:
  const int socket_;
  const NetworkLoad& load_;
};

bool send_signal(int socket) {
  const char signal = 1;
  return write(socket, &signal, sizeof(signal)) == sizeof(signal);
}

bool await_signal(int socket) {
  char signal = 0;
  return read(socket, &signal, sizeof(signal)) == sizeof(signal);
}

/// Says when it is ready, and waits to be told to begin.
[[noreturn]] void write_in_child(const sockaddr_in& address, const NetworkLoad& load) {
  const int out = connect_without_delay(address);
  if (out < 0) _exit(1);
  BareWriter writer(out, load);
  _exit(send_signal(out) && await_signal(out) && writer.run() ? 0 : 1);
}

/// Leaves out what comes before the signal to begin.
Result<NetworkTime> read_from_child(int socket, const NetworkLoad& load) {
  BareReader reader(socket, load);
  if (!await_signal(socket)) return system_error("the bare writer does not start");
  const std::unique_ptr<Clock> clock = make_system_clock();
  const Duration cpu_before = cpu_time_of(RUSAGE_SELF);
  const TimePoint begin = clock->now();
  if (!send_signal(socket)) return system_error("the bare writer cannot be told to begin");
  RETURN_IF_ERROR(reader.run());
  return NetworkTime{clock->now() - begin, cpu_time_of(RUSAGE_SELF) - cpu_before};
}

}  // namespace

Result<NetworkTime> measure_bare_network(const NetworkLoad& load) {
  sockaddr_in address{};
  ASSIGN_OR_RETURN(const int listener, listen_on_loopback(&address));
  const Duration cpu_before = cpu_time_of(RUSAGE_CHILDREN);
  const pid_t child = fork();
  if (child == 0) write_in_child(address, load);
  const int in = accept(listener, nullptr, nullptr);
  Result<NetworkTime> taken =
      in < 0 ? system_error("the bare reader accepts") : read_from_child(in, load);
  close(in);
  close(listener);
  int ended = 0;
  waitpid(child, &ended, 0);
  // The writer's set-up is in it: little beside the rest.
  if (taken.ok()) taken->cpu_time += cpu_time_of(RUSAGE_CHILDREN) - cpu_before;
  return taken;
}

}  // namespace freshet::bench
