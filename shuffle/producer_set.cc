#include "shuffle/producer_set.h"

#include <algorithm>
#include <array>

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
  if (span.begin >= span.end) return;
  const auto first = spans_.begin() + (first_behind(span.begin) - spans_.cbegin());
  auto last = first;
  std::array<ProducerSpan, 2> left;  // What is kept of the first and of the last.
  size_t kept = 0;
  for (; last != spans_.end() && last->begin < span.end; ++last) {
    size_ -= std::min(last->end, span.end) - std::max(last->begin, span.begin);
    if (last->begin < span.begin) left[kept++] = {last->begin, span.begin};
    if (last->end > span.end) left[kept++] = {span.end, last->end};
  }
  spans_.insert(spans_.erase(first, last), left.begin(), left.begin() + kept);
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

std::vector<ProducerSpan>::const_iterator ProducerSet::first_behind(uint32_t producer) const {
  return std::upper_bound(spans_.begin(), spans_.end(), producer,
                          [](uint32_t p, const ProducerSpan& s) { return p < s.end; });
}

std::vector<ProducerSpan> ProducerSet::missing_in(ProducerSpan span) const {
  std::vector<ProducerSpan> missing;
  uint32_t at = span.begin;
  for (auto s = first_behind(at); s != spans_.end() && s->begin < span.end; ++s) {
    if (s->begin > at) missing.push_back({at, s->begin});
    at = s->end;
  }
  if (at < span.end) missing.push_back({at, span.end});
  return missing;
}

std::vector<ProducerSpan> ProducerSet::common_with(ProducerSpan span) const {
  std::vector<ProducerSpan> common;
  if (span.begin >= span.end) return common;
  for (auto s = first_behind(span.begin); s != spans_.end() && s->begin < span.end; ++s)
    common.push_back({std::max(s->begin, span.begin), std::min(s->end, span.end)});
  return common;
}

void ProducerSet::add_all(std::span<const ProducerSpan> spans) {
  while (!spans.empty()) {
    size_t rising = 1;
    while (rising < spans.size() && spans[rising].begin >= spans[rising - 1].end) ++rising;
    if (rising == 1) {
      (void)add(spans[0]);
    } else {
      merge(spans.first(rising));
    }
    spans = spans.subspan(rising);
  }
}

void ProducerSet::merge(std::span<const ProducerSpan> rising) {
  std::vector<ProducerSpan> all;
  all.reserve(spans_.size() + rising.size());
  size_ = 0;
  const auto append = [&](ProducerSpan span) {
    if (span.begin >= span.end) return;
    if (!all.empty() && span.begin <= all.back().end) {
      const uint32_t end = std::max(all.back().end, span.end);
      size_ += end - all.back().end;
      all.back().end = end;
    } else {
      size_ += span.end - span.begin;
      all.push_back(span);
    }
  };
  auto mine = spans_.begin();
  auto more = rising.begin();
  while (mine != spans_.end() || more != rising.end()) {
    const bool take_mine =
        more == rising.end() || (mine != spans_.end() && mine->begin <= more->begin);
    append(take_mine ? *mine++ : *more++);
  }
  spans_ = std::move(all);
}

std::vector<ProducerSpan> common_spans(std::span<const ProducerSpan> spans,
                                       std::span<const ProducerSpan> others) {
  std::vector<ProducerSpan> common;
  auto other = others.begin();
  for (auto span = spans.begin(); span != spans.end() && other != others.end();) {
    const ProducerSpan part{std::max(span->begin, other->begin), std::min(span->end, other->end)};
    if (part.begin < part.end) common.push_back(part);
    if (span->end < other->end) {
      ++span;
    } else {
      ++other;
    }
  }
  return common;
}

std::vector<ProducerSpan> spans_without(std::span<const ProducerSpan> spans,
                                        std::span<const ProducerSpan> others) {
  std::vector<ProducerSpan> rest;
  auto other = others.begin();
  for (const ProducerSpan& span : spans) {
    uint32_t at = span.begin;
    while (other != others.end() && other->end <= at) ++other;
    for (; other != others.end() && other->begin < span.end; ++other) {
      if (other->begin >= other->end) continue;
      if (other->begin > at) rest.push_back({at, other->begin});
      at = other->end;
      if (at >= span.end) break;  // It may go on in the next.
    }
    if (at < span.end) rest.push_back({at, span.end});
  }
  return rest;
}

}  // namespace freshet
