#include "shuffle/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "network/frame.h"
#include "runtime/base/random.h"
#include "runtime/base/record_layout.h"

namespace freshet {
namespace {

/// A buffer as a channel writes it: perhaps the end of an element, whole ones, perhaps the start of
/// one.
struct Written {
  Buffer buffer;
  std::vector<uint32_t> starts;  // Where elements start in it.
};

Written write(Random& random, uint32_t fixed_size, bool timestamps) {
  Written written;
  std::string bytes;
  const size_t capacity = 200 + random.below(4000);
  const bool tail = random.one_in(2);
  if (tail) bytes.append(1 + random.below(capacity), 't');
  bool incomplete = false;
  while (bytes.size() < capacity && !incomplete && !random.one_in(60)) {
    written.starts.push_back(static_cast<uint32_t>(bytes.size()));
    const size_t size = fixed_size != 0 ? fixed_size : random.below(300);
    if (timestamps) bytes.append(8, 'T');
    char header[kVarintBytesMax];
    if (fixed_size == 0)
      bytes.append(header, static_cast<size_t>(put_varint(header, size) - header));
    bytes.append(size, 'p');
    if (bytes.size() > capacity) {
      bytes.resize(capacity);
      incomplete = true;
    }
  }
  if (bytes.size() < 2) return write(random, fixed_size, timestamps);
  const BlockRef block = Block::on_heap(static_cast<uint32_t>(bytes.size()), nullptr, 0);
  std::memcpy(block->data(), bytes.data(), bytes.size());
  Buffer& buffer = written.buffer = Buffer(block, block->capacity());
  buffer.first_element = 100;
  buffer.elements_started = static_cast<uint32_t>(written.starts.size());
  buffer.tail_bytes = written.starts.empty() ? buffer.size : written.starts.front();
  if (tail) buffer.flags |= kFrameStartsWithTail;
  if (incomplete) buffer.flags |= kFrameEndsIncomplete;
  if (timestamps && !written.starts.empty()) buffer.flags |= kFrameHasTimestamps;
  return written;
}

void expect_split(const Written& written, uint32_t at, uint32_t fixed_size) {
  Buffer rest = written.buffer;
  const Buffer first = split_off(at, fixed_size, &rest);
  const auto is_start = std::ranges::count(written.starts, at) != 0;
  const auto before =
      std::ranges::count_if(written.starts, [&](uint32_t start) { return start < at; });
  ASSERT_EQ(first.bytes(), written.buffer.bytes().substr(0, at));
  ASSERT_EQ(rest.bytes(), written.buffer.bytes().substr(at));
  ASSERT_EQ(first.elements_started, before);
  ASSERT_EQ(rest.elements_started, written.buffer.elements_started - before);
  ASSERT_EQ(first.first_element, 100u);
  ASSERT_EQ(rest.first_element, 100u + static_cast<uint64_t>(before));
  ASSERT_EQ((first.flags & kFrameStartsWithTail) != 0,
            (written.buffer.flags & kFrameStartsWithTail) != 0);
  ASSERT_EQ((rest.flags & kFrameEndsIncomplete) != 0,
            (written.buffer.flags & kFrameEndsIncomplete) != 0);
  const bool between = is_start || (written.starts.empty() && at == written.buffer.tail_bytes);
  ASSERT_EQ((first.flags & kFrameEndsIncomplete) != 0, !between);
  ASSERT_EQ((rest.flags & kFrameStartsWithTail) != 0, !between);
  ASSERT_EQ((first.flags & kFrameHasTimestamps) != 0,
            before != 0 && (written.buffer.flags & kFrameHasTimestamps) != 0);
  if (rest.elements_started != 0) {
    ASSERT_EQ(rest.tail_bytes, *std::ranges::lower_bound(written.starts, at) - at);
  }
}

TEST(BufferTest, IsSplitAtEveryByte) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    auto random = make_seeded_random(seed);
    const auto fixed_size = static_cast<uint32_t>(random->one_in(2) ? 0 : 1 + random->below(40));
    const Written written = write(*random, fixed_size, random->one_in(2));
    for (uint32_t at = 1; at < written.buffer.size; ++at) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " at " << at);
      ASSERT_NO_FATAL_FAILURE(expect_split(written, at, fixed_size));
    }
  }
}

TEST(BufferTest, TakesInOnlyWhatComesBehindItInTheSameBlock) {
  const BlockRef block = Block::on_heap(100, nullptr, 0);
  Buffer first(block, 10);
  first.elements_started = 2;
  first.flags = kFrameHasTimestamps | kFrameStartsWithTail;
  Buffer next = first;
  next.data += 10;
  next.size = 20;
  next.flags = kFrameHasTimestamps;
  next.hash = 7;
  ASSERT_TRUE(first.goes_on_in(next));
  Buffer both = first;
  both.append(next);
  EXPECT_EQ(both.size, 30u);
  EXPECT_EQ(both.elements_started, 4u);
  EXPECT_EQ(both.hash, 7u);
  EXPECT_EQ(both.flags, kFrameHasTimestamps | kFrameStartsWithTail);
  Buffer untimed = next;
  untimed.flags = 0;
  EXPECT_FALSE(first.goes_on_in(untimed));
  Buffer behind = next;
  behind.data += 1;
  EXPECT_FALSE(first.goes_on_in(behind));
  Buffer elsewhere = next;
  elsewhere.block = Block::on_heap(100, nullptr, 0);
  EXPECT_FALSE(first.goes_on_in(elsewhere));
  Buffer event = next;
  event.event = true;
  EXPECT_FALSE(first.goes_on_in(event));
}

TEST(BufferQueueTest, GivesInOrderWhateverIsPutWhere) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    auto random = make_seeded_random(seed);
    const BlockRef block = Block::on_heap(1, nullptr, 0);
    BufferQueue queue;
    std::deque<uint64_t> expected;
    const auto numbered = [&](uint64_t number) {
      Buffer buffer(block, 1);
      buffer.first_element = number;
      buffer.event = number % 2 == 0;
      return buffer;
    };
    for (uint64_t i = 0; i < 2000; ++i) {
      switch (random->below(6)) {
        case 0:
        case 1:
          queue.push(numbered(i));
          expected.push_back(i);
          break;
        case 2:
          if (random->one_in(4)) {
            queue.push_front(numbered(i));
            expected.push_front(i);
          }
          break;
        case 3:
          if (!expected.empty() && random->one_in(4)) {
            EXPECT_EQ(queue.pop_back().first_element, expected.back());
            expected.pop_back();
          }
          break;
        default:
          if (expected.empty()) break;
          EXPECT_EQ(queue.pop().first_element, expected.front());
          expected.pop_front();
      }
      ASSERT_EQ(queue.size(), expected.size());
      ASSERT_EQ(queue.empty(), expected.empty());
      ASSERT_EQ(queue.has_data(),
                std::ranges::any_of(expected, [](uint64_t number) { return number % 2 == 1; }));
      if (expected.empty()) continue;
      ASSERT_EQ(queue.front().first_element, expected.front());
      ASSERT_EQ(queue.back().first_element, expected.back());
    }
    EXPECT_EQ(queue.take_all().size(), expected.size());
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(block.is_only_owner());
  }
}

}  // namespace
}  // namespace freshet
