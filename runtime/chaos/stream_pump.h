#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "runtime/base/time.h"
#include "runtime/chaos/link_faults.h"

namespace freshet::chaos {

/// One way of a connection: takes bytes from one socket and gives them to another one, in order and
/// not before the link lets them through. Holds at most kHeldBytesMax; until those have left it
/// takes no more, so that the sender feels it.
class StreamPump {
 public:
  static constexpr size_t kHeldBytesMax = 1 << 20;

  enum class Progress {
    kFlows,
    kEnded,       // The sender has ended its stream, and the receiver was told.
    kSenderGone,  // A socket has failed.
    kReceiverGone,
  };

  /// Descriptors of sockets that do not block; `bytes` counts what was given on.
  StreamPump(int from, int to, uint64_t& bytes) : from_(from), to_(to), bytes_(bytes) {}

  /// Does what can be done now, but not for long. `scratch` is for its use during the call.
  Progress pump(const LinkEffect&, TimePoint now, std::span<char> scratch);
  /// Takes all that comes, and gives nothing on any more: nobody is there who could tell.
  void discard();
  bool discards() const { return discards_; }

  /// What pump() waits for.
  bool wants_to_read() const { return wants_to_read_; }
  bool wants_to_write() const { return wants_to_write_; }
  std::optional<TimePoint> wakes_at() const { return wakes_at_; }

 private:
  struct Chunk {
    std::string bytes;
    size_t sent = 0;
    TimePoint due;
  };

  Progress send_due(const LinkEffect&, TimePoint now);
  Progress read_more(const LinkEffect&, TimePoint now, std::span<char> scratch);
  /// At once, as far as the socket takes it, when nothing has to wait.
  Progress take(std::string_view bytes, const LinkEffect&, TimePoint now);
  Progress end_if_sent(TimePoint now);
  void hold(std::string_view bytes, TimePoint due);
  /// Nullopt: the receiver is gone.
  std::optional<size_t> send_some(std::string_view bytes);

  const int from_;
  const int to_;
  uint64_t& bytes_;
  std::deque<Chunk> held_;
  size_t held_bytes_ = 0;
  TimePoint rate_allows_at_{};        // The next byte.
  std::optional<TimePoint> end_due_;  // The sender has ended.
  bool ended_ = false;
  bool discards_ = false;
  bool wants_to_read_ = true;
  bool wants_to_write_ = false;
  std::optional<TimePoint> wakes_at_;
};

}  // namespace freshet::chaos
