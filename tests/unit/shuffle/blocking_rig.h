#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/frame.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/random.h"
#include "shuffle/blocking_partition.h"
#include "shuffle/partition_store.h"
#include "tests/unit/base/hooked_files.h"

namespace freshet::testing {

/// One element of a channel.
struct Written {
  ElementKind kind = ElementKind::kRecord;
  EpochMillis timestamp = kNoTimestamp;
  std::string payload;
  bool operator==(const Written&) const = default;
};

/// Makes elements of a channel's buffers again, and checks what the buffers say of them.
class ChannelElements {
 public:
  explicit ChannelElements(uint32_t fixed_record_size) : fixed_record_size_(fixed_record_size) {}

  void add(const Buffer& buffer) {
    ASSERT_EQ(buffer.first_element, started_);
    started_ += buffer.elements_started;
    if (buffer.event) {
      ASSERT_TRUE(rest_.empty());
      take({ElementKind{static_cast<uint8_t>(buffer.data[0])}, kNoTimestamp,
            std::string(buffer.bytes().substr(1))});
    } else {
      ASSERT_LE(buffer.size, kLargeBlockBytes);
      add_records(buffer);
    }
    ASSERT_EQ(buffer.hash, static_cast<uint32_t>(hash_));
  }

  std::vector<Written> elements;
  uint64_t hash() const { return hash_; }

 private:
  void add_records(const Buffer& buffer) {
    std::string_view bytes = buffer.bytes();
    ASSERT_EQ((buffer.flags & kFrameStartsWithTail) != 0, !rest_.empty());
    if (rest_.empty()) {
      ASSERT_EQ(buffer.tail_bytes, 0u);
    } else {
      const size_t before = rest_.size();
      rest_.append(bytes);
      if (!parse(rest_timed_, &rest_)) {
        ASSERT_EQ(buffer.elements_started, 0u);
        ASSERT_EQ(buffer.tail_bytes, buffer.size);
        ASSERT_NE(buffer.flags & kFrameEndsIncomplete, 0);
        return;
      }
      ASSERT_EQ(buffer.tail_bytes, before + bytes.size() - rest_.size() - before);
      bytes.remove_prefix(bytes.size() - rest_.size());
      rest_.clear();
    }
    uint32_t started = 0;
    rest_ = bytes;
    rest_timed_ = (buffer.flags & kFrameHasTimestamps) != 0;
    while (!rest_.empty()) {
      ++started;
      if (!parse(rest_timed_, &rest_)) break;
    }
    ASSERT_EQ(started, buffer.elements_started);
    ASSERT_EQ((buffer.flags & kFrameEndsIncomplete) != 0, !rest_.empty());
  }

  /// Takes the first record off, if it is whole.
  bool parse(bool timed, std::string* bytes) {
    RecordView record;
    const RecordLayout layout{fixed_record_size_, timed};
    if (parse_record_header(layout, *bytes, &record) != ParseResult::kComplete) return false;
    if (bytes->size() < record.header_bytes + record.payload_bytes) return false;
    take({ElementKind::kRecord, record.timestamp,
          bytes->substr(record.header_bytes, record.payload_bytes)});
    bytes->erase(0, record.header_bytes + record.payload_bytes);
    return true;
  }

  void take(Written element) {
    hash_ = rolling_hash(hash_, element.kind, element.timestamp, element.payload);
    elements.push_back(std::move(element));
  }

  uint32_t fixed_record_size_;
  uint64_t started_ = 0;
  uint64_t hash_ = 0;
  std::string rest_;  // Of an element that goes on.
  bool rest_timed_ = false;
};

struct BlockingSettings {
  uint32_t subpartitions = 1;
  uint32_t fixed_record_size = 0;
  BlockCodec codec = BlockCodec::kLz4;
  uint64_t memory_bytes = RegionBuffer::kLeastBytes;
  bool to_all = false;
  AttemptNumber attempt = 0;
  uint32_t producer = 3;
};

/// Blocking partitions and those who read them; a disk that moves when it is told.
class BlockingRig : public ::testing::Test {
 protected:
  static constexpr const char* kDirectory = "/state/partitions";

  BlockingRig() { restart(); }
  ~BlockingRig() override {
    disk_.run_ready();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
    if (store_) {
      EXPECT_EQ(store_->read_pool()->held_bytes(), 0u);
    }
  }

  /// As a process that starts.
  void restart(uint64_t read_bytes = 1u << 20) {
    auto store = PartitionStore::create({SpillPlace{&files_, kDirectory, &disk_, {}}, read_bytes});
    ASSERT_TRUE(store.ok()) << store.status().to_string();
    store_ = std::move(store).value();
  }

  using Settings = BlockingSettings;

  PartitionKey key(const Settings& settings = {}) const {
    return {{1, 2}, DatasetId{7}, settings.producer, settings.attempt};
  }

  std::unique_ptr<BlockingPartition> make_partition(const Settings& settings) {
    ResultPartition::Options options;
    options.job = key().job;
    options.dataset = key().dataset;
    options.producer = settings.producer;
    options.attempt = settings.attempt;
    options.subpartitions = settings.subpartitions;
    options.fixed_record_size = settings.fixed_record_size;
    options.wake = [this] { ++woken_; };
    BlockingPartition::Context context;
    context.pool = pool_;
    context.claim = {settings.memory_bytes, 0};
    context.place = store_->place_of(options.job);
    context.file_name = PartitionStore::file_name(key(settings));
    context.codec = settings.codec;
    auto partition = std::make_unique<BlockingPartition>(options, context);
    if (settings.to_all) partition->write_to_all();
    return partition;
  }

  static void write(BlockingPartition& partition, uint32_t subpartition, const Written& element,
                    uint32_t fixed_record_size = 0) {
    partition.write(subpartition, element.timestamp, fixed_record_size, [&](Encoder& encoder) {
      encoder.write(element.payload.data(), element.payload.size());
    });
  }

  /// Ends it and makes it known.
  Result<PublishedPartition> publish(BlockingPartition& partition, const Settings& settings) {
    partition.end_of_data();
    disk_.run_ready();
    const std::optional<Result<PublishedPartition>> published = partition.published();
    if (!published) return internal_error("it is not published");
    if (published->ok()) RETURN_IF_ERROR(store_->publish(key(settings), **published));
    return *published;
  }

  std::shared_ptr<PartitionReader> reader(const Settings& settings, uint32_t subpartition,
                                          uint32_t count = 1, uint64_t next_element = 0) {
    PartitionReader::Options options;
    options.subpartition = subpartition;
    options.count = count;
    options.next_element = next_element;
    options.fixed_record_size = settings.fixed_record_size;
    options.wake = [this] { ++woken_; };
    auto reader = store_->read(key(settings), options);
    EXPECT_TRUE(reader.ok()) << reader.status().to_string();
    return *reader;
  }

  /// The next; the disk is waited for. Nullopt at the end.
  Result<std::optional<PartitionReader::Taken>> take(PartitionReader& reader) {
    while (true) {
      const int woken = woken_;
      ASSIGN_OR_RETURN(auto taken, reader.take());
      if (taken || reader.ended()) return taken;
      while (woken_ == woken) {
        if (!disk_.run_one()) return unavailable("a wake-up was lost");
      }
    }
  }

  /// All of one subpartition.
  Result<std::vector<Written>> read_all(const Settings& settings, uint32_t subpartition) {
    return read_to_end(reader(settings, subpartition), settings);
  }

  Result<std::vector<Written>> read_to_end(const std::shared_ptr<PartitionReader>& reader,
                                           const Settings& settings) {
    ChannelElements elements(settings.fixed_record_size);
    Status status;
    while (true) {
      auto taken = take(*reader);
      status = taken.status();
      if (!taken.ok() || !*taken) break;
      elements.add((*taken)->buffer);
    }
    reader->close();
    if (!status.ok()) return status;
    return elements.elements;
  }

  ManualClock clock_;
  HookedFiles files_;
  ManualExecutor disk_{clock_};
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(4u << 20);
  std::unique_ptr<PartitionStore> store_;
  int woken_ = 0;
};

}  // namespace freshet::testing
