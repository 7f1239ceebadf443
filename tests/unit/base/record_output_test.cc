#include "runtime/base/record_output.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace freshet {
namespace {

/// One channel with one block; what does not go there goes the long way.
class OneBlock final : public RecordOutput {
 public:
  explicit OneBlock(size_t size)
      : RecordOutput(200), open(*make_open_block(130)), block_(size, '\0') {
    open.cursor = block_.data();
    open.end = block_.data() + block_.size();
  }
  Encoder& begin_record(uint32_t channel, EpochMillis timestamp) override {
    long_way.push_back({channel, timestamp});
    encoder_.start(nullptr, nullptr);
    return encoder_;
  }
  void end_record() override { last = encoder_.bytes(); }
  std::string written() const {
    return block_.substr(0, static_cast<size_t>(open.cursor - block_.data()));
  }
  void put(const std::string& payload, uint32_t channel = 130, EpochMillis time = kNoTimestamp,
           uint32_t fixed_size = 0) {
    write(channel, time, fixed_size,
          [&](Encoder& encoder) { encoder.write(payload.data(), payload.size()); });
  }

  OpenBlock& open;
  std::vector<std::pair<uint32_t, EpochMillis>> long_way;
  std::string last;

 private:
  std::string block_;
  Encoder encoder_;
};

TEST(RecordOutputTest, WritesSmallRecordsStraightIntoTheOpenBlock) {
  OneBlock output(1000);
  output.put("one");
  output.put("");
  output.put(std::string(127, 'x'));
  EXPECT_EQ(output.open.records, 3u);
  EXPECT_TRUE(output.long_way.empty());
  EXPECT_EQ(output.written(), std::string("\x03one\x00\x7F", 6) + std::string(127, 'x'));
}

TEST(RecordOutputTest, WritesPlainRecordsToTheLastByteOfABlock) {
  OneBlock output(20);
  for (const uint64_t value : {1, 2, 3}) output.write_plain(130, kNoTimestamp, value);
  EXPECT_EQ(output.open.records, 2u);
  EXPECT_EQ(output.long_way.size(), 1u);  // For eight bytes there were four.
  EXPECT_EQ(output.last, std::string("\x03\0\0\0\0\0\0\0", 8));
  output.write_plain(130, 5, uint64_t{4});  // With a timestamp the usual way decides.
  EXPECT_EQ(output.long_way.size(), 2u);
  output.write_plain(0, kNoTimestamp, uint64_t{5});
  EXPECT_EQ(output.long_way.size(), 3u);
}

TEST(RecordRunTest, GivesRecordsOfFixedSizeAsTheyLie) {
  const std::string bytes = "aabbccddeeff!";
  const bool never = false;
  RecordRun run({.fixed_size = 2}, bytes, 5, &never);
  EXPECT_EQ(run.next_plain(2), "aabb");
  std::string_view payload;
  EpochMillis timestamp = 0;
  ASSERT_TRUE(run.next(&payload, &timestamp));
  EXPECT_EQ(payload, "cc");
  EXPECT_EQ(run.next_plain(100), "ddee");  // The fifth is the last that is wanted.
  EXPECT_EQ(run.next_plain(100), "");
  EXPECT_EQ(run.records(), 5u);
  EXPECT_EQ(run.bytes(), 10u);
  const bool stopped = true;
  EXPECT_EQ(RecordRun({.fixed_size = 2}, bytes, 5, &stopped).next_plain(1), "");
  EXPECT_EQ(RecordRun({.fixed_size = 0}, bytes, 5, &never).next_plain(1), "");
  EXPECT_EQ(RecordRun({.fixed_size = 2, .timestamps = true}, bytes, 5, &never).next_plain(1), "");
}

TEST(RecordOutputTest, GoesTheLongWayWhereThereIsNoOpenBlock) {
  OneBlock output(1000);
  for (const uint32_t channel : {0u, 129u, 131u, 199u}) output.put("x", channel);
  EXPECT_EQ(output.long_way.size(), 4u);
  EXPECT_EQ(output.last, "x");
  EXPECT_EQ(output.written(), "");
}

TEST(RecordOutputTest, GoesTheLongWayWithWhatMayNotFit) {
  OneBlock output(300);
  output.put(std::string(128, 'x'));
  EXPECT_EQ(output.last.size(), 128u);
  for (int i = 0; i < 10; ++i) output.put(std::string(50, 'y'));
  EXPECT_EQ(output.open.records, 4u);  // Then less is left than the largest small record needs.
  EXPECT_EQ(output.long_way.size(), 7u);
  EXPECT_EQ(output.written().size(), 4u * 51);
}

TEST(RecordOutputTest, GoesTheLongWayWhenTimestampsBeginOrEnd) {
  OneBlock output(1000);
  output.put("a", 130, 5);
  EXPECT_EQ(output.long_way.size(), 1u);
  output.open.timestamps = true;
  output.put("b", 130, 5);
  output.put("c");
  EXPECT_EQ(output.long_way.size(), 2u);
  EXPECT_EQ(output.written(), std::string("\5\0\0\0\0\0\0\0\1b", 10));
}

TEST(RecordOutputTest, WritesNoLengthBeforeRecordsOfOneSize) {
  OneBlock output(1000);
  output.put("12345678", 130, kNoTimestamp, 8);
  EXPECT_EQ(output.written(), "12345678");
  output.put("123", 130, kNoTimestamp, 8);  // Somebody lied: the long way finds out.
  EXPECT_EQ(output.written(), "12345678");
  EXPECT_EQ(output.long_way.size(), 1u);
}

TEST(RecordRunTest, GivesSmallRecordsOfEveryLayoutInline) {
  for (const uint32_t fixed_size : {0u, 5u, 200u}) {
    for (const bool timestamps : {false, true}) {
      std::string bytes;
      std::vector<std::string> payloads;
      for (const size_t size : {0u, 1u, 127u, 128u, 5u, 300u, 7u}) {
        payloads.emplace_back(fixed_size == 0 ? size : fixed_size,
                              static_cast<char>('a' + size % 26));
        const EpochMillis timestamp = static_cast<EpochMillis>(size) + 1000;
        char header[kRecordHeaderBytesMax];
        std::memcpy(header, &timestamp, kTimestampBytes);
        char* const end = put_varint(header + kTimestampBytes, payloads.back().size());
        if (timestamps) bytes.append(header, kTimestampBytes);
        if (fixed_size == 0) bytes.append(header + kTimestampBytes, end);
        bytes += payloads.back();
      }
      const bool go_on = false;
      RecordRun run({fixed_size, timestamps}, bytes, 100, &go_on);
      RecordRun cut({fixed_size, timestamps}, std::string_view(bytes).substr(0, bytes.size() - 1),
                    100, &go_on);
      for (const std::string& expected : payloads) {
        std::string_view payload;
        EpochMillis timestamp = 0;
        const bool inlined = run.next_small(&payload, &timestamp);
        EXPECT_EQ(inlined, fixed_size != 0 || expected.size() < 128);
        ASSERT_TRUE(inlined || run.next(&payload, &timestamp));
        EXPECT_EQ(payload, expected);
        EXPECT_EQ(timestamp == kNoTimestamp, !timestamps);
        EXPECT_EQ(cut.next(&payload, &timestamp), &expected != &payloads.back());
        EXPECT_TRUE(cut.records() < payloads.size() - 1 || !cut.next_small(&payload, &timestamp));
      }
      EXPECT_EQ(run.bytes(), bytes.size());
      EXPECT_EQ(run.records(), payloads.size());
    }
  }
}

TEST(RecordRunTest, EndsAtItsMostAndWhenItIsStopped) {
  const std::string bytes("\1a\1b\1c\2d", 8);
  bool stop = false;
  RecordRun run({}, bytes, 2, &stop);
  std::string_view payload;
  EpochMillis timestamp = 0;
  ASSERT_TRUE(run.next(&payload, &timestamp));
  EXPECT_EQ(payload, "a");
  EXPECT_EQ(timestamp, kNoTimestamp);
  ASSERT_TRUE(run.next(&payload, &timestamp));
  EXPECT_FALSE(run.next(&payload, &timestamp));
  EXPECT_EQ(run.bytes(), 4u);
  RecordRun all({}, bytes, 100, &stop);
  while (all.next(&payload, &timestamp)) continue;
  EXPECT_EQ(all.records(), 3u);  // The last one is cut off.
  stop = true;
  RecordRun none({}, bytes, 100, &stop);
  EXPECT_FALSE(none.next(&payload, &timestamp));
}

}  // namespace
}  // namespace freshet
