#include "tests/sim/sim_event_queue.h"

#include <algorithm>

#include "runtime/base/hash.h"

namespace freshet::sim {

SimEventQueue::SimEventQueue(uint64_t seed) : random_(make_seeded_random(seed)) {}

SimEventQueue::~SimEventQueue() { close(); }

EventId SimEventQueue::add(TimePoint when, uint64_t owner, std::string_view name,
                           Function function) {
  if (closed_) return EventId{};
  const uint64_t sequence = next_sequence_++;
  const TimePoint time = std::max(when, now());
  events_.emplace(Key(time, sequence), Event{owner, name, std::move(function)});
  times_.emplace(sequence, time);
  return EventId{sequence};
}

void SimEventQueue::cancel(EventId id) {
  const auto time = times_.find(id.sequence);
  if (time == times_.end()) return;
  const auto event = events_.find(Key(time->second, id.sequence));
  const Function dropped = std::move(event->second.function);  // Its destructor may add events.
  times_.erase(time);
  events_.erase(event);
}

bool SimEventQueue::run_one() {
  if (events_.empty()) return false;
  const auto first = events_.begin();
  const Key key = first->first;
  Event event = std::move(first->second);
  events_.erase(first);
  times_.erase(key.second);
  clock_.advance_to(key.first);
  note(static_cast<uint64_t>(key.first.time_since_epoch().count()));
  note(event.owner);
  note(event.name);
  ++events_run_;
  event.function();
  return true;
}

void SimEventQueue::run_until(TimePoint end) {
  while (!events_.empty() && next_time() <= end) run_one();
  clock_.advance_to(std::max(now(), end));
}

void SimEventQueue::note(std::string_view fact) { note(hash_bytes(fact)); }

void SimEventQueue::note(uint64_t fact) { trace_hash_ = hash_combine(trace_hash_, fact); }

void SimEventQueue::close() {
  closed_ = true;
  while (!events_.empty()) {
    const Function dropped = std::move(events_.begin()->second.function);
    events_.erase(events_.begin());
  }
  times_.clear();
}

}  // namespace freshet::sim
