#include "shuffle/producer_set.h"

#include <algorithm>

namespace freshet {

uint32_t ProducerSet::add(ProducerSpan span) {
  if (span.begin >= span.end) return 0;
  const auto first =
      std::lower_bound(spans_.begin(), spans_.end(), span.begin,
                       [](const ProducerSpan& s, uint32_t begin) { return s.end < begin; });
  auto last = first;
  uint32_t had = 0;
  ProducerSpan merged = span;
  for (; last != spans_.end() && last->begin <= span.end; ++last) {
    had += last->end - last->begin;
    merged.begin = std::min(merged.begin, last->begin);
    merged.end = std::max(merged.end, last->end);
  }
  const uint32_t added = merged.end - merged.begin - had;
  size_ += added;
  if (first == last) {
    spans_.insert(first, merged);
  } else {
    *first = merged;
    spans_.erase(first + 1, last);
  }
  return added;
}

void ProducerSet::remove(ProducerSpan span) {
  std::vector<ProducerSpan> left;
  size_ = 0;
  const auto keep = [&](ProducerSpan part) {
    if (part.begin >= part.end) return;
    left.push_back(part);
    size_ += part.end - part.begin;
  };
  for (const ProducerSpan& s : spans_) {
    keep({s.begin, std::min(s.end, span.begin)});
    keep({std::max(s.begin, span.end), s.end});
  }
  spans_ = std::move(left);
}

bool ProducerSet::contains(uint32_t producer) const {
  const auto after =
      std::upper_bound(spans_.begin(), spans_.end(), producer,
                       [](uint32_t p, const ProducerSpan& s) { return p < s.begin; });
  return after != spans_.begin() && producer < std::prev(after)->end;
}

void ProducerSet::clear() {
  spans_.clear();
  size_ = 0;
}

std::vector<ProducerSpan> ProducerSet::missing_in(ProducerSpan span) const {
  std::vector<ProducerSpan> missing;
  uint32_t at = span.begin;
  for (const ProducerSpan& s : spans_) {
    if (s.end <= at) continue;
    if (s.begin >= span.end) break;
    if (s.begin > at) missing.push_back({at, s.begin});
    at = s.end;
  }
  if (at < span.end) missing.push_back({at, span.end});
  return missing;
}

std::vector<ProducerSpan> ProducerSet::common_with(ProducerSpan span) const {
  std::vector<ProducerSpan> common;
  for (const ProducerSpan& s : spans_) {
    const ProducerSpan part{std::max(s.begin, span.begin), std::min(s.end, span.end)};
    if (part.begin < part.end) common.push_back(part);
  }
  return common;
}

}  // namespace freshet
