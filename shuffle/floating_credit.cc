#include "shuffle/floating_credit.h"

#include <algorithm>

#include "shuffle/segment_pool.h"

namespace freshet {

uint32_t FloatingCredit::take(uint32_t backlog_bytes) {
  // Half of what is free at most, so that the next one finds something too.
  const uint64_t most =
      std::max<uint64_t>(free_bytes_ / 2, std::min<uint64_t>(free_bytes_, kLargeBlockBytes));
  const uint64_t bytes =
      std::min<uint64_t>(backlog_bytes, most) / kSmallBlockBytes * kSmallBlockBytes;
  free_bytes_ -= bytes;
  return static_cast<uint32_t>(bytes);
}

uint32_t FloatingCredit::ask(uint32_t producer, uint32_t backlog_bytes) {
  const uint32_t bytes = waiting_.empty() ? take(backlog_bytes) : 0;
  if (bytes == 0) waiting_.push_back({producer, backlog_bytes});
  return bytes;
}

std::optional<FloatingCredit::Grant> FloatingCredit::grant_next() {
  if (waiting_.empty()) return std::nullopt;
  const Waiting first = waiting_.front();
  const uint32_t bytes = take(first.backlog_bytes);
  if (bytes == 0) return std::nullopt;
  waiting_.pop_front();
  return Grant{first.producer, bytes};
}

void FloatingCredit::forget(ProducerSpan producers) {
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    return waiting.producer >= producers.begin && waiting.producer < producers.end;
  });
}

}  // namespace freshet
