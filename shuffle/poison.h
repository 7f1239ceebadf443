#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif

namespace freshet {

/// Memory that is ours and that nobody may touch, as in the free blocks of a pool:
/// AddressSanitizer reports who does. Without it nothing happens.
inline void poison([[maybe_unused]] const void* memory, [[maybe_unused]] size_t bytes) {
#if defined(ASAN_POISON_MEMORY_REGION)
  ASAN_POISON_MEMORY_REGION(memory, bytes);
#endif
}

/// It may be used again.
inline void unpoison([[maybe_unused]] const void* memory, [[maybe_unused]] size_t bytes) {
#if defined(ASAN_UNPOISON_MEMORY_REGION)
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#endif
}

}  // namespace freshet
