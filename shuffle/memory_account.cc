#include "shuffle/memory_account.h"

#include "runtime/base/check.h"

namespace freshet {

MemoryAccount::~MemoryAccount() { CHECK((state_.load() & kHeldMask) == 0); }

void MemoryAccount::give_back(uint64_t bytes, bool owed) {
  const uint64_t change = bytes + (owed ? kOwedBlock : 0);
  uint64_t state = state_.load();
  while ((state & kWaitedFor) == 0) {
    if (!state_.compare_exchange_weak(state, state - change)) continue;
    end_after(state - change);
    return;
  }
  // What it still holds keeps it alive up to here, this until it is done.
  const std::shared_ptr<MemoryAccount> keep = shared_from_this();
  const uint64_t left = state_.fetch_sub(change) - change;
  if (is_available_again(left) && stop_waiting()) wake();
  end_after(left);
}

void MemoryAccount::end_after(uint64_t state) {
  if ((state & kClosed) == 0 || (state & kHeldMask) != 0) [[likely]]
    return;
  const std::shared_ptr<MemoryAccount> last = std::move(self_);
}

void MemoryAccount::close() {
  if ((state_.load() & kClosed) != 0) return;
  self_ = shared_from_this();
  if ((state_.fetch_or(kClosed) & kHeldMask) == 0) self_ = nullptr;
}

void MemoryAccount::wake() const {
  if ((state_.load() & kClosed) == 0 && wake_) wake_();
}

bool MemoryAccount::is_available_after_waiting() const {
  state_.fetch_or(kWaitedFor);
  if (shares_ && !waits_for_shares_.exchange(true)) shares_->wait(weak_from_this());
  // What came back or changed meanwhile did not see that.
  if (!is_available_again(state_.load())) return false;
  (void)stop_waiting();
  return true;
}

void MemoryAccount::on_shares_changed() const {
  waits_for_shares_.store(false);
  // With less, too, there is something to do: what is open may be too large now.
  if (stop_waiting()) wake();
}

}  // namespace freshet
