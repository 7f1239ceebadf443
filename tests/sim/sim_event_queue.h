#pragma once

#include <map>
#include <string_view>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/base/unique_function.h"

namespace freshet::sim {

/// Names a waiting event. Zero names none.
struct EventId {
  uint64_t sequence = 0;
  bool operator==(const EventId&) const = default;
};

/// All that will happen in a simulated world, in the order of (time, sequence). Virtual time jumps
/// to the next event.
///
/// The trace hash covers every event that ran and everything noted: two runs of one seed have equal
/// hashes, or something that is not handed in has decided.
class SimEventQueue {
 public:
  using Function = UniqueFunction<void()>;

  explicit SimEventQueue(uint64_t seed);
  ~SimEventQueue();

  /// Runs `function` at `when`, or now when that is past. `owner` is a number that tells the trace
  /// whose event it is.
  EventId add(TimePoint when, uint64_t owner, std::string_view name, Function function);

  /// Destroys a waiting event unrun. An event that ran or runs is left alone.
  void cancel(EventId);

  /// Moves time to the next event and runs it. False when there is none.
  bool run_one();

  /// Runs events until none is due at or before `end`, and leaves the time there.
  void run_until(TimePoint end);

  /// Runs events until `done()` holds, looked at before each. False when it does not hold and
  /// `limit` has passed or nothing is left to happen.
  template <class Done>
  bool run_until(Done&& done, Duration limit) {
    const TimePoint end = now() + limit;
    while (!done()) {
      if (events_.empty() || next_time() > end || !run_one()) return done();
    }
    return true;
  }

  TimePoint now() const { return clock_.now(); }
  Clock& clock() { return clock_; }

  /// Decides everything that the world leaves to chance.
  Random& random() { return *random_; }

  /// Adds a fact to the trace.
  void note(std::string_view fact);
  void note(uint64_t fact);

  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t events_run() const { return events_run_; }
  size_t waiting_count() const { return events_.size(); }

  /// Destroys all waiting events unrun, and refuses new ones: the end of the world.
  void close();

 private:
  using Key = std::pair<TimePoint, uint64_t>;
  struct Event {
    uint64_t owner;
    std::string_view name;
    Function function;
  };

  TimePoint next_time() const { return events_.begin()->first.first; }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  std::map<Key, Event> events_;
  std::map<uint64_t, TimePoint> times_;  // Of waiting events, by sequence.
  uint64_t next_sequence_ = 1;
  uint64_t trace_hash_ = 0;
  uint64_t events_run_ = 0;
  bool closed_ = false;
};

}  // namespace freshet::sim
