#include "state/key_order.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"

namespace freshet {

uint64_t key_prefix(std::string_view key) {
  uint64_t word = 0;
  if (key.size() >= sizeof(word)) [[likely]] {
    std::memcpy(&word, key.data(), sizeof(word));
  } else if (!key.empty()) {
    std::memcpy(&word, key.data(), key.size());
  }
  return __builtin_bswap64(word);
}

void KeyOrder::add(std::string_view serialised_key, uint32_t row) {
  CHECK(serialised_key.size() <= UINT32_MAX);
  spans_.push_back({key_prefix(serialised_key), bytes_.size(),
                    static_cast<uint32_t>(serialised_key.size()), row});
  bytes_ += serialised_key;
}

void KeyOrder::sort() {
  std::sort(spans_.begin(), spans_.end(), [this](const Span& a, const Span& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return std::string_view(bytes_.data() + a.begin, a.size) <
           std::string_view(bytes_.data() + b.begin, b.size);
  });
}

}  // namespace freshet
