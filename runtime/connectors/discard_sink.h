#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/operators/source.h"

namespace freshet {

/// How many records a discard_sink() of this process took, over all its subtasks and attempts.
/// Thread-safe.
struct DiscardedRecords {
  std::atomic<uint64_t> count{0};
};

std::shared_ptr<const OperatorFactory> make_discard_factory(
    std::shared_ptr<DiscardedRecords> counter);

/// Takes records and does nothing with them; counts them in `counter`, if there is one.
template <class T>
Sink<T> discard_sink(std::shared_ptr<DiscardedRecords> counter = nullptr) {
  return {"discard", make_discard_factory(std::move(counter))};
}

}  // namespace freshet
