#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "shuffle/block_reserve.h"
#include "shuffle/memory_account.h"
#include "shuffle/memory_shares.h"
#include "shuffle/segment_pool.h"

namespace freshet {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSteps = 10'000;
#else
constexpr int kSteps = 100'000;
#endif
constexpr size_t kThreads = 4;
constexpr uint64_t kPoolBytes = 32 * kLargeBlockBytes;
constexpr MemoryClaim kClaim{4 * kLargeBlockBytes, 8 * kLargeBlockBytes};

/// Blocks on their way from the thread that wrote them to one that reads them.
class Exchange {
 public:
  void put(ConstBlockRef block) {
    std::lock_guard lock(mutex_);
    blocks_.push_back(std::move(block));
  }
  ConstBlockRef take() {
    std::lock_guard lock(mutex_);
    if (blocks_.empty()) return nullptr;
    ConstBlockRef block = std::move(blocks_.front());
    blocks_.pop_front();
    return block;
  }

 private:
  std::mutex mutex_;
  std::deque<ConstBlockRef> blocks_;
};

struct Memory {
  std::shared_ptr<SegmentPool> pool = std::make_shared<SegmentPool>(kPoolBytes);
  std::shared_ptr<MemoryShares> shares = std::make_shared<MemoryShares>(kPoolBytes);
  Exchange exchange;
};

/// One task: writes blocks while its account allows it, reads those of others, and takes and gives
/// back other claims meanwhile.
class Holder {
 public:
  Holder(Memory& memory, uint64_t index)
      : memory_(memory), job_{0, index}, random_(make_seeded_random(index + 1)) {
    EXPECT_TRUE(memory_.shares->reserve(job_, kClaim).ok());
    account_ = std::make_shared<MemoryAccount>(kClaim, memory_.shares,
                                               [wakes = wakes_] { wakes->fetch_add(1); });
  }

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      switch (random_->below(8)) {
        case 0:
          change_claims();
          break;
        case 1:
        case 2:
          write();
          break;
        case 3:
          if (random_->one_in(20)) {
            write_and_leave();
          } else {
            write();
          }
          break;
        default:
          read();
      }
    }
    for (const MemoryClaim& claim : claims_) memory_.shares->give_back(job_, claim);
    for (const ReceiveMemory& receive : receives_) memory_.shares->give_back(job_, receive);
    copies_.clear();
  }

  /// What is left for others to read, when nobody writes any more.
  void read_rest() {
    while (read()) {
    }
    copies_.clear();
  }

  void expect_all_given_back() {
    EXPECT_EQ(account_->held_bytes(), 0u);
    EXPECT_TRUE(!waits_ || wakes_->load() != wakes_before_) << "a wake-up was lost";
    EXPECT_TRUE(account_->available());
    EXPECT_EQ(wrong_bytes_, 0u);
    EXPECT_GT(blocks_written_, 0u);
    memory_.shares->give_back(job_, kClaim);
    account_->close();
  }

  uint64_t overdraft() const { return overdraft_; }
  uint64_t waited() const { return waited_; }

 private:
  bool may_write() {
    if (waits_ && wakes_->load() == wakes_before_) return false;
    wakes_before_ = wakes_->load();
    waits_ = !account_->available();
    waited_ += waits_;
    return !waits_;
  }

  void write() {
    if (!may_write()) return;
    constexpr uint32_t kSizes[] = {kSmallBlockBytes, kMediumBlockBytes, kLargeBlockBytes};
    // Now and then much at once, as of one element.
    for (uint64_t left = random_->one_in(100) ? 200 : 1; left > 0; --left) {
      give_away(Block::allocate(*memory_.pool, kSizes[random_->below(3)], account_));
    }
  }

  /// What another one wrote who goes before it is read; the last block ends its account.
  void write_and_leave() {
    const auto account = std::make_shared<MemoryAccount>(kClaim, memory_.shares, [] {});
    {
      BlockReserve reserve(memory_.pool, account);
      for (uint64_t left = random_->below(40); left > 0; --left) give_away(reserve.take());
    }
    (void)account->available();
    account->close();
  }

  void give_away(BlockRef block) {
    const char mark = static_cast<char>(random_->next());
    block->data()[0] = mark;
    block->data()[block->capacity() - 1] = mark;
    overdraft_ += block->is_overdraft();
    block->hand_over();
    ++blocks_written_;
    memory_.exchange.put(std::move(block));
  }

  bool read() {
    ConstBlockRef block = memory_.exchange.take();
    if (!block) return false;
    wrong_bytes_ += block->data()[0] != block->data()[block->capacity() - 1];
    if (copies_.size() > 20) Block::let_go_all(&copies_);
    if (random_->one_in(4)) copies_.push_back(block);
    if (random_->one_in(8)) memory_.exchange.put(block);  // For somebody else, too.
    return true;
  }

  void change_claims() {
    const MemoryClaim claim{random_->below(4) * kSmallBlockBytes, random_->below(1u << 20)};
    if (random_->one_in(2)) {
      if (memory_.shares->reserve(job_, claim).ok()) claims_.push_back(claim);
      const auto receive = memory_.shares->reserve_receive(job_, 1 + random_->below(4), 256u << 10);
      if (receive.ok()) receives_.push_back(*receive);
    } else if (!claims_.empty()) {
      memory_.shares->give_back(job_, claims_.back());
      claims_.pop_back();
    } else if (!receives_.empty()) {
      memory_.shares->give_back(job_, receives_.back());
      receives_.pop_back();
    }
    EXPECT_LE(memory_.shares->extra_bytes(claim.extra_bytes_max), claim.extra_bytes_max);
    EXPECT_LE(memory_.pool->free_bytes(), memory_.pool->total_bytes());
  }

  Memory& memory_;
  const JobId job_;
  const std::unique_ptr<Random> random_;
  const std::shared_ptr<std::atomic<uint64_t>> wakes_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<MemoryAccount> account_;
  std::vector<ConstBlockRef> copies_;
  std::vector<MemoryClaim> claims_;
  std::vector<ReceiveMemory> receives_;
  bool waits_ = false;
  uint64_t wakes_before_ = 0;
  uint64_t waited_ = 0;
  uint64_t overdraft_ = 0;
  uint64_t blocks_written_ = 0;
  uint64_t wrong_bytes_ = 0;
};

TEST(MemoryThreadsTest, EverythingIsFreeWhateverThreadsTakeAndGiveBackForEachOther) {
  Memory memory;
  ManualClock clock;
  std::deque<Holder> holders;
  for (uint64_t i = 0; i < kThreads; ++i) holders.emplace_back(memory, i);
  {
    std::deque<ThreadExecutor> threads;
    for (Holder& holder : holders)
      threads.emplace_back("holder", clock).post("run", [&holder] { holder.run(); });
  }
  holders.front().read_rest();
  uint64_t overdraft = 0;
  uint64_t waited = 0;
  for (Holder& holder : holders) {
    holder.expect_all_given_back();
    overdraft += holder.overdraft();
    waited += holder.waited();
  }
  EXPECT_GT(overdraft, 0u);
  EXPECT_GT(waited, 0u);
  EXPECT_TRUE(memory.shares->is_empty());
  EXPECT_EQ(memory.pool->free_bytes(), memory.pool->total_bytes());
}

}  // namespace
}  // namespace freshet
