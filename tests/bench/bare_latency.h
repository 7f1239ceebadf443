#pragma once

#include "runtime/base/status.h"
#include "tests/bench/latency_load.h"

namespace freshet::bench {

/// The baseline: two processes with one thread each and a TCP connection with TCP_NODELAY between
/// them over loopback. One write() per record, or, with a buffer timeout, one per flush and per
/// 32 KiB; the reader blocks in read().
Result<LatencyTaken> measure_bare_latency(const LatencyLoad& load);

}  // namespace freshet::bench
