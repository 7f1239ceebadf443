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

bool Attachment::covers(ProducerSpan span) const {
  const AttachedProducers* range = find(span.begin);
  if (range == nullptr) return span.begin >= span.end;
  const AttachedProducers* const end = producers.data() + producers.size();
  for (uint32_t at = span.begin; at < span.end; ++range) {
    if (range == end || range->span.begin > at) return false;
    at = range->span.end;
  }
  return true;
}

AttachedPosition Attachment::position(uint32_t producer) const {
  const auto at = std::lower_bound(
      positions.begin(), positions.end(), producer,
      [](const AttachedPosition& position, uint32_t p) { return position.producer < p; });
  return at != positions.end() && at->producer == producer ? *at : AttachedPosition{producer};
}

}  // namespace freshet
