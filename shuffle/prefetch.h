#pragma once

#include <cstddef>

namespace freshet {

// A function that does nothing but prefetch is without effect for the compiler, which drops calls
// of it: all of these are always inlined.

/// Asks for the cache lines of `size` bytes from `from` on.
[[gnu::always_inline]] inline void prefetch_bytes(const void* from, size_t size) {
  constexpr size_t kLineBytes = 64;
  for (size_t offset = 0; offset < size; offset += kLineBytes)
    __builtin_prefetch(static_cast<const char*>(from) + offset, 1);
}

}  // namespace freshet
