#include "shuffle/file_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "tests/unit/shuffle/bell.h"

namespace freshet {
namespace {

using testing::IsEmpty;

/// A queue whose disk is a thread, and the numbers that go through it.
class FileQueueTest : public ::testing::Test {
 protected:
  ~FileQueueTest() override {
    disk_.stop();
    EXPECT_THAT(files_.files(), IsEmpty());
  }

  std::shared_ptr<FileQueue> make_queue(uint64_t number) {
    const auto block = [this](const std::function<void()>& function) {
      ++blocked_;
      if (when_it_waits_) when_it_waits_();
      function();
    };
    return std::make_shared<FileQueue>(
        FileQueue::Options{SpillPlace{&files_, "/spill", &disk_, block}, std::to_string(number),
                           [bell = bell_] { bell->ring(); }});
  }

  void push(FileQueue& queue, uint64_t numbers) {
    std::string bytes;
    for (; numbers > 0; --numbers, ++pushed_)
      bytes.append(reinterpret_cast<const char*>(&pushed_), sizeof pushed_);
    ASSERT_TRUE(queue.push(std::move(bytes), &cancelled_).ok());
  }

  void pop(FileQueue& queue) {
    Result<std::string> next = queue.pop();
    while (next.ok() && next->empty()) {
      bell_->wait();  // For ever when a wake-up is lost.
      next = queue.pop();
    }
    ASSERT_TRUE(next.ok()) << next.status().to_string();
    rest_ += *next;
    size_t at = 0;
    for (; at + sizeof popped_ <= rest_.size(); at += sizeof popped_, ++popped_)
      ASSERT_EQ(std::memcmp(rest_.data() + at, &popped_, sizeof popped_), 0);
    rest_.erase(0, at);
  }

  MemoryFileSystem files_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  ThreadExecutor disk_{"disk", *clock_};
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  uint64_t blocked_ = 0;
  std::function<void()> when_it_waits_;
  std::atomic<bool> cancelled_{false};
  uint64_t pushed_ = 0;
  uint64_t popped_ = 0;
  std::string rest_;
};

TEST_F(FileQueueTest, GivesBackWhatWasPushedWhileAThreadWritesAndReads) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    auto random = make_seeded_random(seed);
    const auto queue = make_queue(seed);
    for (int step = 0; step < 300; ++step) {
      if (random->one_in(2) || popped_ == pushed_) {
        push(*queue, 1 + random->below(random->one_in(2) ? 20'000 : 300));
      } else {
        pop(*queue);
      }
    }
    while (popped_ != pushed_) pop(*queue);
    FileQueue::close(queue);
  }
}

TEST_F(FileQueueTest, IsNeverFarAheadOfADiskThatGoesOn) {
  const auto queue = make_queue(1);
  for (int i = 0; i < 2000; ++i) push(*queue, 10'000);
  while (popped_ != pushed_) pop(*queue);
  FileQueue::close(queue);
}

/// A disk that stands still.
class StandingFileQueueTest : public FileQueueTest {
 protected:
  StandingFileQueueTest() {
    disk_.post("stand", [this] { bell_of_disk_.wait(); });
  }
  void push_too_much(FileQueue& queue) {
    for (uint64_t bytes = 0; bytes <= FileQueue::kUnwrittenBytesMax; bytes += 80'000)
      push(queue, 10'000);
  }

  Bell bell_of_disk_;
};

TEST_F(StandingFileQueueTest, WaitsUntilThereIsRoom) {
  const auto queue = make_queue(1);
  when_it_waits_ = [this] { bell_of_disk_.ring(); };
  EXPECT_EQ(queue->waited(), Duration{});
  push_too_much(*queue);
  EXPECT_EQ(blocked_, 1u);
  EXPECT_GT(queue->waited(), Duration{});
  while (popped_ != pushed_) pop(*queue);
  FileQueue::close(queue);
}

TEST_F(StandingFileQueueTest, WaitsNoLongerOnceItIsCancelled) {
  const auto queue = make_queue(1);
  when_it_waits_ = [this] { cancelled_ = true; };
  push_too_much(*queue);
  EXPECT_EQ(blocked_, 1u);
  FileQueue::close(queue);
  bell_of_disk_.ring();
}

TEST_F(FileQueueTest, GoesInTheMiddleOfAnything) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto random = make_seeded_random(seed);
    const auto queue = make_queue(seed);
    pushed_ = popped_ = 0;
    rest_.clear();
    for (uint64_t i = 1 + random->below(8); i > 0; --i) push(*queue, 10'000);
    for (uint64_t i = random->below(4); i > 0 && popped_ != pushed_; --i) pop(*queue);
    FileQueue::close(queue);
  }
}

}  // namespace
}  // namespace freshet
