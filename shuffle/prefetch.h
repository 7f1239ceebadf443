#pragma once

#include <cstddef>

namespace freshet {

/// Asks for the cache lines of `size` bytes from `from` on, to be written.
inline void prefetch_bytes(const void* from, size_t size) {
  constexpr size_t kLineBytes = 64;
  for (size_t offset = 0; offset < size; offset += kLineBytes)
    __builtin_prefetch(static_cast<const char*>(from) + offset, 1);
}

}  // namespace freshet
