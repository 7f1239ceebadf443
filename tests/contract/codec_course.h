#pragma once

#include <deque>

#include "tests/contract/channel_rig.h"
#include "tests/unit/codec/random_values.h"

namespace freshet {

/// When what was written is handed over, which decides the size of the blocks: the first block of
/// a channel has 1024 bytes, the next one after a full one is larger, after one that was handed
/// over nearly empty smaller.
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

inline std::vector<Course> courses() {
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

inline std::string name_of(const Course& course) {
  return "rig " + std::to_string(static_cast<int>(course.rig)) + ", flush " +
         std::to_string(static_cast<int>(course.flush)) + ", timestamps " +
         std::to_string(course.timestamps) + ", seed " + std::to_string(course.seed);
}

}  // namespace freshet
