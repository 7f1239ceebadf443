#include <deque>

#include "tests/contract/channel_rig.h"
#include "tests/unit/codec/random_values.h"

namespace freshet {
namespace {

/// When what was written is handed over, which decides the size of the blocks: the first block of
/// a channel has 512 bytes, the next one after a full one is larger, after one that was handed over
/// nearly empty smaller.
enum class Flush { kEachRecord, kSome, kFourThousandBytes, kNever };

struct Course {
  RigKind rig = RigKind::kLocal;
  Flush flush = Flush::kNever;
  int timestamps = 0;  // 0: none, 1: all, 2: some.
  uint64_t seed = 0;
};

/// Values of T through a channel, written as an edge writes them and read as a task reads them.
template <class T>
class CodecCourse {
 public:
  explicit CodecCourse(const Course& course)
      : course_(course), rig_(course.rig, {}), values_(course.seed) {
    auto partition_options = rig_.partition_options(0, 1);
    partition_options.fixed_record_size = Codec<T>::kFixedSize;
    partition_options.hash = true;
    partition_ = rig_.partition(partition_options);
    auto gate_options = rig_.gate_options(0, 1);
    gate_options.fixed_record_size = Codec<T>::kFixedSize;
    gate_options.hash = true;
    gate_ = rig_.gate(gate_options);
  }

  ~CodecCourse() {
    gate_->release();
    partition_->release();
  }

  void send(T value) {
    const EpochMillis timestamp = next_timestamp();
    const uint64_t before = partition_->bytes_written();
    partition_->write(0, timestamp, Codec<T>::kFixedSize,
                      [&](Encoder& encoder) { Codec<T>::encode(value, encoder); });
    Encoder size;
    Codec<T>::encode(value, size);
    unflushed_ += size.bytes().size();
    sent_.push_back({std::move(value), timestamp});
    const bool flush = course_.flush == Flush::kEachRecord ||
                       (course_.flush == Flush::kSome && values_.random().one_in(9)) ||
                       (course_.flush == Flush::kFourThousandBytes && unflushed_ >= 3500);
    if (flush) {
      partition_->flush();
      unflushed_ = 0;
    }
    if (partition_->bytes_written() != before && values_.random().one_in(3)) receive();
  }

  RandomValues& values() { return values_; }

  void finish() {
    partition_->end_of_data();
    ASSERT_TRUE(rig_.wait_until([&] {
      receive();
      return gate_->ended();
    }));
    EXPECT_TRUE(sent_.empty()) << sent_.size() << " were lost";
    EXPECT_EQ(partition_->positions(), gate_->positions());
  }

 private:
  struct Sent {
    T value;
    EpochMillis timestamp;
  };

  EpochMillis next_timestamp() {
    if (course_.timestamps == 0 || (course_.timestamps == 2 && values_.random().one_in(50)))
      timed_ = !timed_;
    return course_.timestamps == 1 || (course_.timestamps == 2 && timed_)
               ? static_cast<EpochMillis>(values_.random().below(1u << 30))
               : kNoTimestamp;
  }

  /// Takes what is there, in runs and one by one.
  void receive() {
    while (const auto producer = gate_->next_ready()) {
      const auto run_max = static_cast<uint32_t>(values_.random().below(40));
      const bool stop = false;
      if (run_max > 0) {
        if (auto run = gate_->begin_run(*producer, run_max, &stop)) {
          std::string_view payload;
          EpochMillis timestamp = kNoTimestamp;
          while (run->next(&payload, &timestamp)) check(payload, timestamp);
          gate_->end_run(*producer, *run);
          continue;
        }
      }
      const auto element = gate_->take_from(*producer);
      ASSERT_TRUE(element.has_value());
      ASSERT_EQ(element->kind, ElementKind::kRecord);
      check(element->payload, element->timestamp);
    }
  }

  void check(std::string_view payload, EpochMillis timestamp) {
    ASSERT_FALSE(sent_.empty());
    Decoder decoder(payload);
    Codec<T>::decode(decoder, received_);
    ASSERT_EQ(decoder.remaining(), 0u);
    ASSERT_TRUE(received_ == sent_.front().value) << payload.size() << " bytes";
    ASSERT_EQ(timestamp, sent_.front().timestamp);
    sent_.pop_front();
  }

  const Course course_;
  ChannelRig rig_;
  RandomValues values_;
  std::shared_ptr<ResultPartition> partition_;
  std::shared_ptr<InputGate> gate_;
  std::deque<Sent> sent_;
  T received_{};
  size_t unflushed_ = 0;
  bool timed_ = false;
};

std::vector<Course> courses() {
  std::vector<Course> all;
  for (const RigKind rig : {RigKind::kLocal, RigKind::kRemoteInProcess}) {
    for (const Flush flush :
         {Flush::kEachRecord, Flush::kSome, Flush::kFourThousandBytes, Flush::kNever}) {
      for (int timestamps = 0; timestamps < 3; ++timestamps)
        all.push_back({rig, flush, timestamps, all.size() + 1});
    }
  }
  return all;
}

std::string name_of(const Course& course) {
  return "rig " + std::to_string(static_cast<int>(course.rig)) + ", flush " +
         std::to_string(static_cast<int>(course.flush)) + ", timestamps " +
         std::to_string(course.timestamps) + ", seed " + std::to_string(course.seed);
}

template <class T>
class CodecChannelTest : public ::testing::Test {};

// Sizes of 1, 8, 13, 14 and 16 bytes, so that fixed ones end everywhere in a block; and various.
using Types =
    ::testing::Types<bool, int64_t, std::tuple<int64_t, int32_t, bool>,
                     std::array<std::pair<int32_t, int8_t>, 3>, Measure, std::string,
                     std::optional<std::string>, std::variant<std::monostate, int64_t, std::string>,
                     std::vector<std::optional<Inner>>, std::unordered_map<std::string, int64_t>,
                     std::deque<int32_t>, std::multimap<bool, std::string>, Outer>;
TYPED_TEST_SUITE(CodecChannelTest, Types);

TYPED_TEST(CodecChannelTest, ValuesAreReadBackWhereverBlocksEnd) {
  for (const Course& one : courses()) {
    SCOPED_TRACE(name_of(one));
    CodecCourse<TypeParam> course(one);
    const int records = Codec<TypeParam>::kFixedSize == 0 ? 1500 : 8000;
    for (int i = 0; i < records; i++) course.send(course.values().template make<TypeParam>());
    course.finish();
    if (this->HasFatalFailure()) return;
  }
}

/// Text of `size` bytes that differs from that of other sizes and places.
std::string text_of(size_t size, uint64_t seed) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; i++) text[i] = static_cast<char>((seed + i * 31 + (i >> 8)) & 0xFF);
  return text;
}

/// A filler puts the next record at each place near the end of a block: it starts, has its header
/// cut, its payload cut, and ends there.
TEST(CodecChannelBoundaryTest, RecordsAreCutAtEachByteOfABlocksEnd) {
  for (const Course& one : courses()) {
    SCOPED_TRACE(name_of(one));
    for (const size_t block : {size_t{512}, size_t{4096}, size_t{32768}}) {
      // Blocks hold their header too, so the end is looked for in a wide range before it.
      const size_t step = one.timestamps == 2 ? 3 : 1;
      CodecCourse<std::string> course(one);
      for (size_t filler = block - 140; filler < block + 20; filler += step) {
        course.send(text_of(filler, filler));
        for (const size_t size : {0u, 1u, 20u, 130u}) course.send(text_of(size, filler));
      }
      course.finish();
    }
    if (HasFatalFailure()) return;
  }
}

TEST(CodecChannelBoundaryTest, RecordsOfAnySizeAreReadBack) {
  for (const Course& one : courses()) {
    SCOPED_TRACE(name_of(one));
    CodecCourse<std::vector<std::string>> course(one);
    Random& random = course.values().random();
    for (int i = 0; i < 60; i++) {
      const uint64_t size_max = uint64_t{1} << random.below(i % 20 == 0 ? 22 : 17);
      std::vector<std::string> value;
      for (uint64_t part = 1 + random.below(3); part > 0; part--)
        value.push_back(text_of(random.below(size_max), random.next()));
      course.send(std::move(value));
    }
    course.send({text_of(3 << 20, 7)});
    course.send({});
    course.finish();
    if (HasFatalFailure()) return;
  }
}

/// The task fails then; its partition holds nothing any more once it is released.
TEST(CodecChannelFailureTest, ARecordWhoseEncodingFailedHoldsNoMemory) {
  for (const RigKind kind : {RigKind::kLocal, RigKind::kRemoteInProcess}) {
    for (const size_t size : {0u, 10u, 600u, 100'000u}) {
      ChannelRig rig(kind, {});
      auto partition = rig.partition(rig.partition_options(0, 1));
      auto gate = rig.gate(rig.gate_options(0, 1));
      write_record(*partition, 0, "before");
      EXPECT_THROW(partition->write(0, kNoTimestamp, 0,
                                    [&](Encoder& encoder) {
                                      const std::string part(size, 'x');
                                      encoder.write(part.data(), part.size());
                                      throw CodecError("on purpose");
                                    }),
                   CodecError);
      rig.run();
      partition->release();
      gate->release();
    }
  }
}

}  // namespace
}  // namespace freshet
