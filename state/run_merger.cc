#include "state/run_merger.h"

#include <utility>

#include "state/key_order.h"

namespace freshet {

RunMerger::RunMerger(std::vector<SortedRun> runs) {
  sources_.reserve(runs.size());
  for (SortedRun& run : runs) sources_.emplace_back(std::move(run));
}

Result<bool> RunMerger::next() {
  if (sources_.empty()) return false;
  if (!begun_) {
    begun_ = true;
    RETURN_IF_ERROR(build());
  } else {
    RETURN_IF_ERROR(advance(sources_[winner_]));
    replay(winner_);
  }
  return !sources_[winner_].ended;
}

Status RunMerger::advance(Source& source) {
  ASSIGN_OR_RETURN(const bool more, source.reader.next());
  source.ended = !more;
  if (more) source.prefix = key_prefix(source.reader.key());
  return Status();
}

bool RunMerger::before(uint32_t a, uint32_t b) const {
  const Source& first = sources_[a];
  const Source& second = sources_[b];
  if (first.ended || second.ended) return second.ended && (!first.ended || a < b);
  if (first.prefix != second.prefix) return first.prefix < second.prefix;
  const int order = first.reader.key().compare(second.reader.key());
  return order != 0 ? order < 0 : a < b;
}

/// Plays all games from the leaves up; leaf i is node size + i.
Status RunMerger::build() {
  for (Source& source : sources_) RETURN_IF_ERROR(advance(source));
  const auto size = static_cast<uint32_t>(sources_.size());
  losers_.assign(size, 0);
  std::vector<uint32_t> winners(2 * static_cast<size_t>(size));
  for (uint32_t i = 0; i < size; i++) winners[size + i] = i;
  for (uint32_t node = size; node-- > 1;) {
    const uint32_t left = winners[2 * node];
    const uint32_t right = winners[2 * node + 1];
    const bool left_wins = before(left, right);
    winners[node] = left_wins ? left : right;
    losers_[node] = left_wins ? right : left;
  }
  winner_ = size == 1 ? 0 : winners[1];
  return Status();
}

void RunMerger::replay(uint32_t source) {
  uint32_t winner = source;
  for (uint32_t node = (static_cast<uint32_t>(sources_.size()) + source) / 2; node > 0; node /= 2) {
    if (before(losers_[node], winner)) std::swap(losers_[node], winner);
  }
  winner_ = winner;
}

}  // namespace freshet
