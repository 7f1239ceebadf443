#include "shuffle/memory_account.h"

namespace freshet {

void MemoryAccount::give_back(uint64_t bytes, bool owed) {
  const uint64_t change = bytes + (owed ? kOwedBlock : 0);
  const uint64_t left = state_.fetch_sub(change) - change;
  if (!waited_for_.load() || !is_available(left) || !waited_for_.exchange(false)) return;
  if (!closed_.load() && wake_) wake_();
}

void MemoryAccount::on_shares_changed() {
  // With less, too, there is something to do: what is open may be too large now.
  if (!waited_for_.exchange(false)) return;
  if (!closed_.load() && wake_) wake_();
}

}  // namespace freshet
