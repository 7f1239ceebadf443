#include "shuffle/blocking_partition.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/shuffle/blocking_rig.h"

namespace freshet::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(Random& random, size_t size) {
  std::string bytes(size, 'a');
  const bool repeats = random.one_in(2);
  for (size_t at = 0; at < size; at += repeats ? 50 : 1)
    bytes[at] = static_cast<char>(random.next());
  return bytes;
}

size_t size_of(Random& random) {
  if (random.one_in(300)) return random.below(1u << 20);
  if (random.one_in(20)) return random.below(40'000);
  return random.below(random.one_in(2) ? 20 : 300);
}

class BlockingPartitionTest : public BlockingRig {
 protected:
  struct Course {
    Settings settings;
    std::vector<std::vector<Written>> channels;
    uint64_t hash = 0;
    uint64_t file_bytes = 0;
  };

  int disk_steps_ = 1;  // At a time; what is written does not depend on it.

  static Settings random_settings(Random& random) {
    constexpr uint32_t kWidths[] = {1, 2, 3, 17, 300, 10'000};
    constexpr uint32_t kSizes[] = {0, 0, 0, 1, 8, 100, 5'000, 70'000};
    Settings settings;
    settings.subpartitions = kWidths[random.below(std::size(kWidths))];
    settings.fixed_record_size = kSizes[random.below(std::size(kSizes))];
    settings.codec = BlockCodec{static_cast<uint8_t>(random.below(kBlockCodecs))};
    settings.memory_bytes = random.one_in(2) ? RegionBuffer::kLeastBytes : 2u << 20;
    settings.to_all = random.one_in(5);
    return settings;
  }

  /// Writes what `random` says; the same however much memory there is.
  Course write_course(const Settings& settings, Random& random) {
    Course course{settings, std::vector<std::vector<Written>>(settings.subpartitions)};
    const auto partition = make_partition(settings);
    const uint64_t events_one_in = random.one_in(2) ? 1u << 30 : 500;
    const bool mixes_timestamps = random.one_in(3);
    uint64_t left = random.below(3u << 20);
    while (left > 0) {
      if (random.one_in(8)) {
        for (int i = 0; i < disk_steps_; ++i) disk_.run_one();
      }
      if (random.one_in(events_one_in)) {
        broadcast(*partition, &course, std::string(random.below(9), 'w'));
        continue;
      }
      Written element;
      const size_t size =
          settings.fixed_record_size != 0 ? settings.fixed_record_size : size_of(random);
      element.payload = text_of(random, size);
      if (mixes_timestamps && random.one_in(3)) element.timestamp = static_cast<int64_t>(left);
      left -= std::min<uint64_t>(left, element.payload.size() + 20);
      const auto to = static_cast<uint32_t>(random.below(settings.subpartitions));
      write(*partition, settings.to_all ? 0 : to, element, settings.fixed_record_size);
      for (uint32_t each = 0; each < settings.subpartitions && settings.to_all; ++each)
        course.channels[each].push_back(element);
      if (!settings.to_all) course.channels[to].push_back(element);
      EXPECT_LE(partition->account().held_bytes(), settings.memory_bytes);
    }
    const auto published = publish(*partition, settings);
    EXPECT_TRUE(published.ok()) << published.status().to_string();
    if (published.ok()) {
      course.hash = published->hash;
      course.file_bytes = published->file_bytes;
    }
    partition->release();
    return course;
  }

  static void broadcast(BlockingPartition& partition, Course* course, const std::string& payload) {
    partition.broadcast_event(ElementKind::kWatermark, payload);
    for (auto& channel : course->channels)
      channel.push_back({ElementKind::kWatermark, kNoTimestamp, payload});
  }

  /// Several readers at once; some of them do not take before the others have ended.
  void read_course(const Course& course, Random& random) {
    struct Reading {
      std::shared_ptr<PartitionReader> reader;
      uint32_t first = 0;
      std::vector<ChannelElements> channels;
      bool lazy = false;
    };
    std::vector<Reading> readings;
    const uint32_t width = course.settings.subpartitions;
    for (uint64_t i = 0; i < 6; ++i) {
      Reading reading;
      reading.first = static_cast<uint32_t>(random.below(width));
      const uint32_t count =
          random.one_in(2)
              ? 1
              : 1 + static_cast<uint32_t>(random.below(std::min(width - reading.first, 40u)));
      reading.channels.assign(count, ChannelElements(course.settings.fixed_record_size));
      reading.reader = reader(course.settings, reading.first, count);
      reading.lazy = random.one_in(3);
      readings.push_back(std::move(reading));
    }
    for (const bool lazy : {false, true}) {
      std::vector<Reading*> open;
      for (Reading& reading : readings) {
        if (reading.lazy == lazy) open.push_back(&reading);
      }
      while (!open.empty()) {
        const size_t which = random.below(open.size());
        Reading& reading = *open[which];
        auto taken = take(*reading.reader);
        ASSERT_TRUE(taken.ok()) << taken.status().to_string();
        if (*taken) {
          reading.channels[(*taken)->subpartition - reading.first].add((*taken)->buffer);
          ASSERT_FALSE(HasFatalFailure());
        } else {
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
        }
      }
    }
    for (Reading& reading : readings) {
      for (size_t i = 0; i < reading.channels.size(); ++i) {
        ASSERT_TRUE(reading.channels[i].elements == course.channels[reading.first + i]);
      }
      reading.reader->close();
    }
  }
};

TEST_F(BlockingPartitionTest, GivesEachConsumerWhatWasWrittenForIt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    auto random = make_seeded_random(seed);
    restart(random->one_in(2) ? 64u << 10 : 1u << 20);
    const Course course = write_course(random_settings(*random), *random);
    read_course(course, *random);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_F(BlockingPartitionTest, HasTheSameHashHoweverItIsCutAndAnotherWhenItDiffers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    auto random = make_seeded_random(seed);
    Settings settings = random_settings(*random);
    std::vector<uint64_t> hashes;
    for (uint32_t attempt = 0; attempt < 3; ++attempt) {
      settings.attempt = attempt;
      settings.memory_bytes = RegionBuffer::kLeastBytes << attempt;
      disk_steps_ = static_cast<int>(attempt);
      settings.codec = BlockCodec{static_cast<uint8_t>(attempt)};
      auto same = make_seeded_random(seed + 100);
      hashes.push_back(write_course(settings, *same).hash);
    }
    auto other = make_seeded_random(seed + 101);
    settings.attempt = 9;
    EXPECT_EQ(hashes[0], hashes[1]);
    EXPECT_EQ(hashes[0], hashes[2]);
    EXPECT_NE(hashes[0], write_course(settings, *other).hash);
    restart();
  }
}

TEST_F(BlockingPartitionTest, OfTenThousandConsumersThoseWithoutDataCostNothing) {
  Settings settings;
  settings.subpartitions = 10'000;
  const auto partition = make_partition(settings);
  for (const uint32_t to : {5u, 77u, 9'999u}) write(*partition, to, {{}, kNoTimestamp, "three"});
  const auto published = publish(*partition, settings);
  ASSERT_TRUE(published.ok());
  EXPECT_LT(published->file_bytes, 500u);
  EXPECT_EQ(published->elements, 3u);
  partition->release();
  EXPECT_THAT(*read_all(settings, 77), ElementsAre(Written{{}, kNoTimestamp, "three"}));
  EXPECT_THAT(*read_all(settings, 78), IsEmpty());
}

TEST_F(BlockingPartitionTest, ThatIsEmptyIsReadAsEmpty) {
  const Settings settings{.subpartitions = 3};
  const auto partition = make_partition(settings);
  ASSERT_TRUE(publish(*partition, settings).ok());
  partition->release();
  EXPECT_THAT(*read_all(settings, 2), IsEmpty());
}

TEST_F(BlockingPartitionTest, KeepsWhatGoesToAllOnce) {
  const Settings settings{.subpartitions = 1000, .codec = BlockCodec::kNone, .to_all = true};
  const auto partition = make_partition(settings);
  const Written element{{}, kNoTimestamp, std::string(1000, 'x')};
  for (int i = 0; i < 1000; ++i) write(*partition, 0, element);
  const auto published = publish(*partition, settings);
  ASSERT_TRUE(published.ok());
  EXPECT_LT(published->file_bytes, 1'100'000u);
  EXPECT_EQ(partition->records_written(), 1'000'000u);
  partition->release();
  EXPECT_EQ(read_all(settings, 999)->size(), 1000u);
  EXPECT_EQ(read_all(settings, 0)->size(), 1000u);
}

TEST_F(BlockingPartitionTest, HoldsNoMoreThanItMayOfAnElementOfAnySize) {
  const Settings settings{.subpartitions = 2};
  const auto partition = make_partition(settings);
  auto random = make_seeded_random(5);
  std::vector<Written> all;
  for (const size_t size : {size_t{9} << 20, size_t{1}, size_t{3} << 20}) {
    all.push_back({{}, size == 1 ? kNoTimestamp : 17, text_of(*random, size)});
    write(*partition, 1, all.back());
    EXPECT_LE(partition->account().held_bytes(), RegionBuffer::kLeastBytes);
  }
  ASSERT_TRUE(publish(*partition, settings).ok());
  partition->release();
  EXPECT_TRUE(*read_all(settings, 1) == all);
  EXPECT_THAT(*read_all(settings, 0), IsEmpty());
}

TEST_F(BlockingPartitionTest, GoesOnForAConsumerThatHasTheFirstElements) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto random = make_seeded_random(seed);
    Settings settings = random_settings(*random);
    settings.subpartitions = 1 + settings.subpartitions % 3;
    restart();
    const Course course = write_course(settings, *random);
    const std::vector<Written>& all = course.channels[0];
    for (int i = 0; i < 5; ++i) {
      const uint64_t next = random->below(all.size() + 1);
      const auto reader = this->reader(settings, 0, 1, next);
      std::vector<uint64_t> firsts;
      uint64_t elements = next;
      while (true) {
        const auto taken = take(*reader);
        ASSERT_TRUE(taken.ok()) << taken.status().to_string();
        if (!*taken) break;
        const Buffer& buffer = (*taken)->buffer;
        ASSERT_EQ(buffer.first_element, elements);
        if (elements == next) {
          ASSERT_EQ(buffer.flags & kFrameStartsWithTail, 0);
        }
        elements += buffer.elements_started;
      }
      EXPECT_EQ(elements, all.size());
      reader->close();
    }
    const auto reader = this->reader(settings, 0, 1, all.size() + 1);
    const auto taken = take(*reader);
    EXPECT_THAT(taken.status().message(), HasSubstr("the consumer has"));
    reader->close();
  }
}

TEST_F(BlockingPartitionTest, IsNotThereBeforeItsEnd) {
  const Settings settings;
  const auto partition = make_partition(settings);
  for (int i = 0; i < 10'000; ++i) write(*partition, 0, {{}, kNoTimestamp, std::string(300, 'x')});
  disk_.run_ready();
  EXPECT_FALSE(partition->published());
  for (const auto& [path, content] : files_.memory.files()) EXPECT_TRUE(path.ends_with(".part"));
  partition->end_of_data();
  EXPECT_FALSE(partition->published());
  const int woken = woken_;
  disk_.run_ready();
  EXPECT_GT(woken_, woken);
  ASSERT_TRUE(partition->published() && partition->published()->ok());
  ASSERT_EQ(files_.memory.files().size(), 1u);
  EXPECT_TRUE(files_.memory.files().begin()->first.ends_with(".partition"));
  partition->release();
}

TEST_F(BlockingPartitionTest, ThatIsReleasedBeforeItsEndLeavesNothing) {
  const auto partition = make_partition({});
  for (int i = 0; i < 10'000; ++i) write(*partition, 0, {{}, kNoTimestamp, std::string(300, 'x')});
  disk_.run_one();
  partition->release();
  disk_.run_ready();
  EXPECT_THAT(files_.memory.files(), IsEmpty());
}

TEST_F(BlockingPartitionTest, IsUnavailableWhileTheDiskIsBehind) {
  const Settings settings{.codec = BlockCodec::kNone};
  const auto partition = make_partition(settings);
  bool full = false;
  partition->watch(&full, nullptr);
  while (!full) write(*partition, 0, {{}, kNoTimestamp, std::string(300, 'x')});
  EXPECT_FALSE(partition->available());
  const int woken = woken_;
  disk_.run_ready();
  EXPECT_GT(woken_, woken);
  EXPECT_TRUE(partition->available());
  partition->release();
}

TEST_F(BlockingPartitionTest, WhoseDiskIsFullSaysWhereAndHowMuchIsFree) {
  files_.memory.set_capacity(1'000'000);
  uint64_t free = 0;  // When the last one was written.
  files_.on_append = [&](const std::string&, std::string_view) {
    free = files_.memory.free_bytes();
    return Status();
  };
  const auto partition = make_partition({.codec = BlockCodec::kNone});
  const auto fill = [&] {
    for (int i = 0; i < 100'000; ++i)
      write(*partition, 0, {{}, kNoTimestamp, std::string(300, 'x')});
  };
  EXPECT_THROW(fill(), WriteAbandoned);
  EXPECT_EQ(partition->status().code(), StatusCode::kResourceExhausted);
  const std::string message = partition->status().message();
  const std::string place = store_->place_of(key().job).directory;
  EXPECT_THAT(message, HasSubstr(place + "/7-3-0.partition.part: "));
  EXPECT_THAT(message, HasSubstr("no space left on device"));
  EXPECT_THAT(message, HasSubstr(std::to_string(1'000'000 - free) +
                                 " bytes of a result partition were written"));
  EXPECT_THAT(message, HasSubstr("(" + std::to_string(free) + " bytes are free there)"));
  EXPECT_FALSE(partition->available());
  partition->end_of_data();
  ASSERT_TRUE(partition->published());
  EXPECT_EQ(partition->published()->status(), partition->status());
  EXPECT_THAT(files_.memory.files(), IsEmpty());
  partition->release();
}

TEST_F(BlockingPartitionTest, WhoseDiskFailsIsNotPublished) {
  files_.on_append = [](const std::string& path, std::string_view) {
    return unavailable(path + ": input/output error");
  };
  const auto partition = make_partition({});
  write(*partition, 0, {{}, kNoTimestamp, "x"});
  const auto published = publish(*partition, {});
  EXPECT_THAT(published.status().message(), HasSubstr("input/output error"));
  partition->release();
  files_.on_append = nullptr;
}

}  // namespace
}  // namespace freshet::testing
