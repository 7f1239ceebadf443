#include "shuffle/spill_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr const char* kPath = "/state/spill/job-1.spill";

struct Put {
  uint32_t subpartition = 0;
  Buffer buffer;
};

std::string random_bytes(Random& random, size_t size) {
  std::string bytes(size, '\0');
  for (size_t at = 0; at + 8 <= size; at += 8) {
    const uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, 8);
  }
  return bytes;
}

Put random_buffer(Random& random, size_t size) {
  Put put;
  put.subpartition = static_cast<uint32_t>(random.below(1u << 20));
  Buffer& buffer = put.buffer;
  const std::string bytes = random_bytes(random, size + 10);
  const BlockRef block = Block::on_heap(static_cast<uint32_t>(bytes.size()), nullptr, 0);
  std::memcpy(block->data(), bytes.data(), bytes.size());
  buffer.block = block;
  buffer.data = block->data() + random.below(10);
  buffer.size = static_cast<uint32_t>(size);
  buffer.event = random.one_in(4);
  buffer.flags = static_cast<uint8_t>(random.next());
  buffer.elements_started = static_cast<uint32_t>(random.next());
  buffer.first_element = random.next();
  buffer.hash = static_cast<uint32_t>(random.next());
  buffer.gate = static_cast<uint32_t>(random.next());
  buffer.tail_bytes = static_cast<uint32_t>(random.next());
  return put;
}

size_t random_size(Random& random) {
  return random.one_in(3) ? random.below(32u << 10) : random.below(600);
}

void expect_same(const SpillFile::Taken& taken, const Put& put) {
  EXPECT_EQ(taken.subpartition, put.subpartition);
  EXPECT_TRUE(taken.bytes == put.buffer.bytes());
  EXPECT_EQ(taken.buffer.size, put.buffer.size);
  EXPECT_EQ(taken.buffer.event, put.buffer.event);
  EXPECT_EQ(taken.buffer.flags, put.buffer.flags);
  EXPECT_EQ(taken.buffer.elements_started, put.buffer.elements_started);
  EXPECT_EQ(taken.buffer.first_element, put.buffer.first_element);
  EXPECT_EQ(taken.buffer.hash, put.buffer.hash);
  EXPECT_EQ(taken.buffer.gate, put.buffer.gate);
  EXPECT_EQ(taken.buffer.tail_bytes, put.buffer.tail_bytes);
  EXPECT_FALSE(taken.buffer.block);
}

class SpillFileTest : public ::testing::Test {
 protected:
  FileQueue::Options options(FileSystem& files) {
    return {SpillPlace{&files, "/state/spill", &disk_, {}}, "job-1.spill", [this] { ++woken_; }};
  }

  /// The next; the disk is waited for.
  Result<SpillFile::Taken> take(SpillFile& spill) {
    while (true) {
      const int woken = woken_;
      ASSIGN_OR_RETURN(const std::optional<SpillFile::Taken> taken, spill.take());
      if (taken) return *taken;
      while (woken_ == woken) {
        if (!disk_.run_one()) return unavailable("a wake-up was lost");
      }
    }
  }

  /// Puts in more than is kept in memory, as far as that can be.
  Status append_much(SpillFile& spill) {
    auto random = make_seeded_random(7);
    Status status;
    for (int i = 0; i < 1000 && status.ok(); ++i)
      status = spill.append(0, random_buffer(*random, 1000).buffer);
    return status;
  }

  ManualClock clock_;
  MemoryFileSystem files_;
  ManualExecutor disk_{clock_};
  int woken_ = 0;
};

TEST_F(SpillFileTest, GivesBackWhatWasPutInInOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto random = make_seeded_random(seed);
    SpillFile spill(options(files_));
    std::deque<Put> inside;
    const bool fills = seed % 2 == 0;
    for (int step = 0; step < 600; ++step) {
      if (random->one_in(2)) disk_.run_one();
      const bool put = step < 400 ? !random->one_in(fills ? 5 : 2) : random->one_in(5);
      if (put || inside.empty()) {
        inside.push_back(random_buffer(*random, random_size(*random)));
        ASSERT_TRUE(spill.append(inside.back().subpartition, inside.back().buffer).ok());
      } else {
        const Result<SpillFile::Taken> taken = take(spill);
        ASSERT_TRUE(taken.ok()) << taken.status().to_string();
        expect_same(*taken, inside.front());
        inside.pop_front();
      }
      ASSERT_EQ(spill.empty(), inside.empty());
    }
    for (; !inside.empty(); inside.pop_front()) expect_same(*take(spill), inside.front());
    EXPECT_TRUE(spill.empty());
  }
}

TEST_F(SpillFileTest, MakesItsFileWhenThereIsEnoughAndRemovesIt) {
  auto random = make_seeded_random(7);
  {
    SpillFile spill(options(files_));
    ASSERT_TRUE(spill.append(0, random_buffer(*random, 1000).buffer).ok());
    EXPECT_EQ(disk_.run_ready(), 0u);
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(spill.append(0, random_buffer(*random, 1000).buffer).ok());
    disk_.run_ready();
    EXPECT_TRUE(files_.files().contains(kPath));
  }
  EXPECT_TRUE(files_.files().contains(kPath));  // Nobody waits for a disk to remove it.
  disk_.run_ready();
  EXPECT_TRUE(files_.files().empty());
}

TEST_F(SpillFileTest, RemovesItsFileThoughItsExecutorRunsNothingAnyMore) {
  {
    SpillFile spill(options(files_));
    ASSERT_TRUE(append_much(spill).ok());
    EXPECT_TRUE(files_.files().contains(kPath));
    disk_.stop();
  }
  EXPECT_TRUE(files_.files().empty());
}

TEST_F(SpillFileTest, SaysWhichFileHasNoSpace) {
  files_.set_capacity(100'000);
  SpillFile spill(options(files_));
  const Status status = append_much(spill);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr(kPath));
  EXPECT_THAT(status.message(), HasSubstr("no space"));
  EXPECT_THAT(status.message(), HasSubstr("bytes of output"));
}

TEST_F(SpillFileTest, WakesWhoeverIsIdleWhenSomethingCannotBeWritten) {
  files_.set_capacity(10'000);
  auto random = make_seeded_random(7);
  SpillFile spill(options(files_));
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(spill.append(0, random_buffer(*random, 1000).buffer).ok());
  disk_.run_ready();
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(spill.take().status().code(), StatusCode::kResourceExhausted);
}

TEST_F(SpillFileTest, SaysWhichFileCannotBeMade) {
  files_.put("/state/spill", "a file where the directory should be");
  SpillFile spill(options(files_));
  const Status status = append_much(spill);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("/state/spill"));
}

class DamagedSpillFileTest : public SpillFileTest {
 protected:
  ~DamagedSpillFileTest() override {
    disk_.run_ready();
    EXPECT_TRUE(local_->remove_all(directory_).ok());
  }

  /// What taking everything comes to when the file of some buffers was replaced by
  /// `damage(content)`.
  template <class Damage>
  Status take_all_after(Damage&& damage) {
    disk_.run_ready();  // The file before had the same name.
    auto random = make_seeded_random(++seed_);
    SpillFile spill(
        {SpillPlace{local_.get(), directory_, &disk_, {}}, "damaged.spill", [this] { ++woken_; }});
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(spill.append(3, random_buffer(*random, random_size(*random)).buffer).ok());
    }
    disk_.run_ready();
    const std::string content = local_->read_all(spill.path()).value();
    const auto file = local_->create(spill.path()).value();  // The same, for who has it open.
    EXPECT_TRUE(file->append(damage(*random, content)).ok());
    while (!spill.empty()) RETURN_IF_ERROR(take(spill).status());
    return Status();
  }

  const std::unique_ptr<FileSystem> local_ = make_local_file_system();
  const std::string directory_ =
      ::testing::TempDir() + "spill_file." + std::to_string(make_system_random()->next());
  uint64_t seed_ = 0;
};

TEST_F(DamagedSpillFileTest, GivesNothingThatWasNotPutIn) {
  for (int round = 0; round < 200; ++round) {
    const Status status = take_all_after([](Random& random, std::string content) {
      content[random.below(content.size())] ^= static_cast<char>(1u << random.below(8));
      return content;
    });
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(directory_ + "/damaged.spill"));
  }
}

TEST_F(DamagedSpillFileTest, RefusesOneThatIsTooShort) {
  for (int round = 0; round < 50; ++round) {
    const Status status = take_all_after([](Random& random, const std::string& content) {
      return content.substr(0, random.below(content.size()));
    });
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr(directory_ + "/damaged.spill"));
  }
}

}  // namespace
}  // namespace freshet
