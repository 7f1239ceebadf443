// What comes to a gate from partitions of its own process.
#include <utility>

#include "shuffle/gate_inbox.h"

namespace freshet {

void GateInbox::on_ready(const Source& source, const ReaderCall& call) {
  bool woken = false;
  {
    MutexLock lock(mutex_);
    const uint32_t producer = call.partition->producer();
    if (closed_ || !owns(source, producer)) return;
    arrivals_.ready.push_back({producer, call.partition->shared_from_this(), call.channel});
    woken = note_arrival();
  }
  wake_if(woken);
}

void GateInbox::on_at_hand(const Source& source, std::vector<ProducerBuffer> buffers,
                           std::span<const ProducerSpan> producers) {
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    arrivals_.buffers.reserve(arrivals_.buffers.size() + buffers.size());
    for (ProducerBuffer& arrived : buffers) {
      if (owns(source, arrived.producer) && !lost_.contains(arrived.producer))
        arrivals_.buffers.push_back(std::move(arrived));
    }
    woken = end_sound(source, producers);
  }
  wake_if(woken);
}

void GateInbox::on_local_ended(const Source& source, std::span<const ProducerSpan> producers) {
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    woken = end_sound(source, producers);
  }
  wake_if(woken);
}

}  // namespace freshet
