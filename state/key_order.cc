#include "state/key_order.h"

#include <algorithm>

namespace freshet {

void KeyOrder::add(std::string_view serialised_key) {
  spans_.push_back({bytes_.size(), serialised_key.size()});
  bytes_ += serialised_key;
}

void KeyOrder::sort() {
  std::sort(spans_.begin(), spans_.end(), [this](const Span& a, const Span& b) {
    return std::string_view(bytes_.data() + a.begin, a.size) <
           std::string_view(bytes_.data() + b.begin, b.size);
  });
}

}  // namespace freshet
