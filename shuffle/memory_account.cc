#include "shuffle/memory_account.h"

namespace freshet {

void MemoryAccount::give_back(uint64_t bytes, bool owed) {
  const uint64_t change = bytes + (owed ? kOwedBlock : 0);
  const uint64_t left = state_.fetch_sub(change) - change;
  if (!waited_for_.load() || !is_available(left) || !waited_for_.exchange(false)) return;
  if (!closed_.load() && wake_) wake_();
}

bool MemoryAccount::is_available_after_waiting() const {
  waited_for_.store(true);
  if (shares_ && !waits_for_shares_.exchange(true)) shares_->wait(weak_from_this());
  return is_available(state_.load());  // What came back or changed meanwhile did not see that.
}

void MemoryAccount::on_shares_changed() const {
  waits_for_shares_.store(false);
  // With less, too, there is something to do: what is open may be too large now.
  if (!waited_for_.exchange(false)) return;
  if (!closed_.load() && wake_) wake_();
}

}  // namespace freshet
