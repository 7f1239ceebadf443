// How full a gate's inbox is, for those who look on.
#include "shuffle/gate_inbox.h"

namespace freshet {

GateInbox::Load GateInbox::load() const {
  Load load;
  MutexLock lock(mutex_);
  load.buffers = arrivals_.buffers.size();
  for (const Arrived& arrived : arrivals_.buffers) {
    load.payload_bytes += arrived.buffer.size;
    load.receive_bytes += arrived.buffer.charge();
  }
  load.floating_lent_bytes = options_.floating_bytes - floating_.free_bytes();
  return load;
}

uint64_t GateInbox::floating_free_bytes() const {
  MutexLock lock(mutex_);
  return floating_.free_bytes();
}

std::map<uint32_t, uint64_t> GateInbox::floating_lent_bytes() const {
  std::map<uint32_t, uint64_t> lent;
  MutexLock lock(mutex_);
  for (const auto& [producer, channel] : channels_) {
    if (channel.floating_bytes != 0) lent.emplace(producer, channel.floating_bytes);
  }
  return lent;
}

}  // namespace freshet
