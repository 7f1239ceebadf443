#include "runtime/graph/buffer_timeout.h"

namespace freshet {

Result<uint64_t> buffer_timeout_ms_of(Duration timeout) {
  if (timeout < Duration::zero() || timeout == Duration::max()) return kNeverFlushedByTime;
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  if (static_cast<uint64_t>(millis) <= kBufferTimeoutMsMax) return static_cast<uint64_t>(millis);
  return invalid_argument("a buffer timeout of " + format_duration(timeout) +
                          " is too long; allowed is 0 (each record is sent by itself) to 24 h, or "
                          "none (only full buffers are sent)");
}

}  // namespace freshet
