#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "shuffle/producer_set.h"

namespace freshet {

/// The receive blocks of a gate that belong to none of its channels: they go to channels of which
/// more waits at the producer than their own credit lets through, first come, first served.
class FloatingCredit {
 public:
  struct Grant {
    uint32_t producer = 0;
    uint32_t bytes = 0;
  };

  explicit FloatingCredit(uint64_t bytes) : free_bytes_(bytes) {}

  /// For a channel with `backlog_bytes` (a small block or more) that does not wait: what it gets
  /// now, in whole small blocks. 0: nothing is free, and it waits.
  uint32_t ask(uint32_t producer, uint32_t backlog_bytes);

  /// What a channel was given and does not need any more.
  void put_back(uint64_t bytes) { free_bytes_ += bytes; }

  /// For the first that waits; nothing when nobody waits or nothing is free.
  std::optional<Grant> grant_next();

  bool anybody_waits() const { return !waiting_.empty(); }
  uint64_t free_bytes() const { return free_bytes_; }

  /// They do not wait any more.
  void forget(ProducerSpan producers);

 private:
  struct Waiting {
    uint32_t producer = 0;
    uint32_t backlog_bytes = 0;
  };

  uint32_t take(uint32_t backlog_bytes);

  uint64_t free_bytes_;
  std::deque<Waiting> waiting_;  // Each producer once.
};

}  // namespace freshet
