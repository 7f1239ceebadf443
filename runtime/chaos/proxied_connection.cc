#include "runtime/chaos/proxied_connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace freshet::chaos {

namespace {
uint32_t events(bool read, bool write) {
  return (read ? uint32_t{EPOLLIN} : 0u) | (write ? uint32_t{EPOLLOUT} : 0u);
}
}  // namespace

bool ProxiedConnection::advance(const Surroundings& now) {
  if (now.there.cut || now.back.cut) {
    ++(to_target_ ? there_.resets : there_.refused);
    reset();
    return false;
  }
  if (!to_target_ && !connect(now)) {
    ++there_.refused;
    reset();
    return false;
  }
  return !to_target_ || flow(now);
}

bool ProxiedConnection::connect(const Surroundings& now) {
  if (!target_) {
    const bool was_held = held_;
    held_ = now.there.held || now.back.held;
    if (held_) return true;
    if (was_held) {
      if (client_.peer_has_gone()) return false;  // The target would never have heard of it.
      give_up_at_ = now.now + kPatience;
    }
    if (!now.target.address) return now.target.expected && now.now < give_up_at_;
    auto begun = TcpSocket::connect(*now.target.address);
    if (!begun.ok()) return false;
    target_.emplace(std::move(begun).value());
  }
  const auto connected = target_->is_connected();
  if (!connected.ok()) return false;
  if (!*connected) return now.now < give_up_at_;
  ++there_.connections;
  to_target_.emplace(client_.descriptor(), target_->descriptor(), there_.bytes);
  to_client_.emplace(target_->descriptor(), client_.descriptor(), back_.bytes);
  return true;
}

bool ProxiedConnection::flow(const Surroundings& now) {
  using Progress = StreamPump::Progress;
  // The news comes through now, and before what may look like an orderly end.
  if ((to_target_->discards() && !now.back.held) || (to_client_->discards() && !now.there.held)) {
    reset();
    return false;
  }
  const Progress there = to_target_->pump(now.there, now.now, now.scratch);
  const Progress back = to_client_->pump(now.back, now.now, now.scratch);
  if (!go_on(there, *to_target_, now.back.held) || !go_on(back, *to_client_, now.there.held)) {
    reset();
    return false;
  }
  return there != Progress::kEnded || back != Progress::kEnded;
}

/// That a receiver is gone would come from it the other way, which may be held.
bool ProxiedConnection::go_on(StreamPump::Progress progress, StreamPump& pump,
                              bool other_way_held) {
  if (progress == StreamPump::Progress::kSenderGone) return false;
  if (progress == StreamPump::Progress::kReceiverGone && other_way_held) pump.discard();
  return progress != StreamPump::Progress::kReceiverGone || other_way_held;
}

void ProxiedConnection::reset() {
  client_.reset();
  if (target_) target_->reset();
}

uint32_t ProxiedConnection::events_of_client() const {
  return to_target_ ? events(to_target_->wants_to_read(), to_client_->wants_to_write()) : 0;
}

uint32_t ProxiedConnection::events_of_target() const {
  if (!target_) return 0;
  return to_target_ ? events(to_client_->wants_to_read(), to_target_->wants_to_write())
                    : events(false, true);
}

std::optional<TimePoint> ProxiedConnection::wakes_at() const {
  if (!to_target_) return held_ ? std::nullopt : std::optional(give_up_at_);
  const auto there = to_target_->wakes_at();
  const auto back = to_client_->wakes_at();
  if (!there || !back) return there ? there : back;
  return std::min(*there, *back);
}

}  // namespace freshet::chaos
