#include "runtime/chaos/stream_pump.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace freshet::chaos {

namespace {

constexpr int kReadsAtOnce = 4;  // Then it is the turn of others.
constexpr size_t kChunkBytesMax = 64 << 10;
constexpr Duration kSameTime = 1ms;   // Chunks this near to each other leave together.
constexpr Duration kRateStep = 10ms;  // At a bounded rate, what belongs to so long leaves at once.

bool has_to_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

size_t bytes_in_step(uint64_t bytes_per_second) {
  const double bytes = static_cast<double>(bytes_per_second) * to_millis(kRateStep) / 1000;
  return std::max<size_t>(1, static_cast<size_t>(bytes));
}

Duration time_of(size_t bytes, uint64_t bytes_per_second) {
  return Duration(static_cast<int64_t>(1e9 * static_cast<double>(bytes) /
                                       static_cast<double>(bytes_per_second)));
}

}  // namespace

StreamPump::Progress StreamPump::pump(const LinkEffect& effect, TimePoint now,
                                      std::span<char> scratch) {
  wants_to_read_ = false;
  wants_to_write_ = false;
  wakes_at_.reset();
  if (ended_) return Progress::kEnded;
  if (effect.held) return Progress::kFlows;
  if (const Progress sent = send_due(effect, now); sent != Progress::kFlows) return sent;
  if (const Progress read = read_more(effect, now, scratch); read != Progress::kFlows) return read;
  wants_to_read_ = !end_due_ && held_bytes_ < kHeldBytesMax;
  return end_if_sent(now);
}

void StreamPump::discard() {
  discards_ = true;
  held_.clear();
  held_bytes_ = 0;
  wants_to_read_ = true;
  wants_to_write_ = false;
}

StreamPump::Progress StreamPump::send_due(const LinkEffect& effect, TimePoint now) {
  while (!held_.empty()) {
    Chunk& chunk = held_.front();
    TimePoint leaves_at = chunk.due;
    std::string_view bytes = std::string_view(chunk.bytes).substr(chunk.sent);
    if (effect.bytes_per_second > 0) {
      leaves_at = std::max(leaves_at, rate_allows_at_);
      bytes = bytes.substr(0, bytes_in_step(effect.bytes_per_second));
    }
    if (leaves_at > now) {
      wakes_at_ = leaves_at;
      return Progress::kFlows;
    }
    const auto sent = send_some(bytes);
    if (!sent) return Progress::kReceiverGone;
    if (effect.bytes_per_second > 0)
      rate_allows_at_ = std::max(rate_allows_at_, now) + time_of(*sent, effect.bytes_per_second);
    held_bytes_ -= *sent;
    chunk.sent += *sent;
    if (*sent < bytes.size()) {
      wants_to_write_ = true;
      return Progress::kFlows;
    }
    if (chunk.sent == chunk.bytes.size()) held_.pop_front();
  }
  return Progress::kFlows;
}

StreamPump::Progress StreamPump::read_more(const LinkEffect& effect, TimePoint now,
                                           std::span<char> scratch) {
  for (int i = 0; i < kReadsAtOnce && !end_due_ && held_bytes_ < kHeldBytesMax; ++i) {
    const size_t room = std::min(scratch.size(), kHeldBytesMax - held_bytes_);
    const ssize_t size = recv(from_, scratch.data(), room, 0);
    if (size < 0) return has_to_wait() ? Progress::kFlows : Progress::kSenderGone;
    if (size == 0) {
      end_due_ = now + effect.delay;
      break;
    }
    const auto bytes = static_cast<size_t>(size);
    const Progress taken = take({scratch.data(), bytes}, effect, now);
    if (taken != Progress::kFlows || bytes < room) return taken;
  }
  return Progress::kFlows;
}

StreamPump::Progress StreamPump::take(std::string_view bytes, const LinkEffect& effect,
                                      TimePoint now) {
  if (discards_) return Progress::kFlows;
  if (held_.empty() && !effect.slow()) {
    const auto sent = send_some(bytes);
    if (!sent) return Progress::kReceiverGone;
    bytes.remove_prefix(*sent);
    if (bytes.empty()) return Progress::kFlows;
    wants_to_write_ = true;
  }
  hold(bytes, now + effect.delay);
  return effect.slow() ? send_due(effect, now) : Progress::kFlows;
}

StreamPump::Progress StreamPump::end_if_sent(TimePoint now) {
  if (!end_due_ || !held_.empty()) return Progress::kFlows;
  if (*end_due_ > now) {
    wakes_at_ = *end_due_;
    return Progress::kFlows;
  }
  ended_ = true;
  if (!discards_) shutdown(to_, SHUT_WR);
  return Progress::kEnded;
}

void StreamPump::hold(std::string_view bytes, TimePoint due) {
  held_bytes_ += bytes.size();
  if (!held_.empty()) {
    Chunk& last = held_.back();
    const bool same_time = due < last.due + kSameTime;
    if (same_time && last.bytes.size() + bytes.size() <= kChunkBytesMax) {
      last.bytes += bytes;
      return;
    }
  }
  held_.push_back({std::string(bytes), 0, due});
}

std::optional<size_t> StreamPump::send_some(std::string_view bytes) {
  const ssize_t sent = send(to_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0) return has_to_wait() ? std::optional<size_t>(0) : std::nullopt;
  bytes_ += static_cast<uint64_t>(sent);
  return static_cast<size_t>(sent);
}

}  // namespace freshet::chaos
