#pragma once

#include <cstdint>

#include "runtime/operators/source.h"

namespace freshet {

/// The numbers from `from` to `to`, both included, each exactly once; none when `to` is smaller.
/// Readers take ranges of them, so with one reader they come in order.
Source<int64_t> sequence(int64_t from, int64_t to);

}  // namespace freshet
