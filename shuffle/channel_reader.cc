#include "shuffle/channel_reader.h"

#include <algorithm>

namespace freshet {

const AttachedProducers* Attachment::find(uint32_t producer) const {
  const auto after = std::upper_bound(
      producers.begin(), producers.end(), producer,
      [](uint32_t p, const AttachedProducers& range) { return p < range.span.begin; });
  if (after == producers.begin()) return nullptr;
  const AttachedProducers& range = *std::prev(after);
  return producer < range.span.end ? &range : nullptr;
}

AttachedPosition Attachment::position(uint32_t producer) const {
  const auto at = std::lower_bound(
      positions.begin(), positions.end(), producer,
      [](const AttachedPosition& position, uint32_t p) { return position.producer < p; });
  return at != positions.end() && at->producer == producer ? *at : AttachedPosition{producer};
}

}  // namespace freshet
