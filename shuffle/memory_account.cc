#include "shuffle/memory_account.h"

namespace freshet {

void MemoryAccount::give_back(uint64_t bytes, bool owed) {
  const uint64_t change = bytes + (owed ? kOwedBlock : 0);
  const uint64_t before = state_.fetch_sub(change);
  if (is_available(before) || !is_available(before - change)) return;
  if (!closed_.load() && wake_) wake_();
}

}  // namespace freshet
