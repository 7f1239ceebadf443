#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet::bench {

/// What a row of bench_network sends.
struct NetworkLoad {
  uint32_t writers = 4;
  uint32_t channels = 100;  // Of each writer.
  Duration flush{};
  uint64_t records = 0;      // Of all writers together: 8-byte zeros, and a last value per channel.
  bool unix_socket = false;  // Freshet's connection; the baseline's is always TCP.

  uint64_t records_of_writer() const { return records / writers; }
};

/// What it took, from the signal to begin to the last value.
struct NetworkTime {
  Duration time{};
  Duration cpu_time{};  // Of both processes.
};

/// The baseline: two processes with one thread each and a TCP connection with TCP_NODELAY between
/// them. The writer fills as many blocks as there are channels, in turns, by 8-byte stores, and
/// sends full ones, or all after the flush interval, in one gathered write; the reader compares
/// every value.
Result<NetworkTime> measure_bare_network(const NetworkLoad& load);

}  // namespace freshet::bench
