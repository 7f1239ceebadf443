#include "runtime/task/record_writer.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/operators/typed_edge.h"
#include "runtime/task/replay.h"

namespace freshet {
namespace {

constexpr uint32_t kConsumers = 5;

/// Takes no value above 1000.
class RefusingType final : public TypedEdge<uint64_t> {
 public:
  void write(const void* record, EpochMillis timestamp, RecordOutput& output,
             uint32_t channel) const override {
    if (*static_cast<const uint64_t*>(record) > 1000) throw std::invalid_argument("too much");
    TypedEdge::write(record, timestamp, output, channel);
  }
  void write_batch(RecordBatch& batch, RecordOutput& output,
                   const uint32_t* channels) const override {
    EdgeType::write_batch(batch, output, channels);
  }
};

class RecordWriterTest : public testing::Test {
 protected:
  std::unique_ptr<RecordWriter> make(Partitioning partitioning, const EdgeType& type) {
    RecordWriter::Options options;
    options.partitioning = partitioning;
    options.subpartitions = options.consumer_parallelism = kConsumers;
    return RecordWriter::make(options, type, partition_, decisions_);
  }

  /// `values`, which stay, from number `begun` on.
  static RecordBatch batch_of(const std::vector<uint64_t>& values, uint32_t begun = 0) {
    RecordBatch batch;
    for (const uint64_t& value : values) {
      batch.records[batch.count] = &value;
      batch.timestamps[batch.count++] = kNoTimestamp;
    }
    batch.begun = begun;
    return batch;
  }

  std::vector<uint64_t> written(uint32_t subpartition) {
    std::vector<uint64_t> values;
    for (const RecordedElement& element : partition_.elements(subpartition)) {
      Decoder decoder(element.payload);
      values.push_back(decoder.read_fixed<uint64_t>());
    }
    return values;
  }

  CapturePartition partition_{kConsumers, true};
  ManualClock clock_;
  LiveDecisions decisions_{clock_, make_seeded_random(7), nullptr};
};

TEST_F(RecordWriterTest, LosesAndDoublesRecordsOnlyWhereItIsTold) {
  const TypedEdge<uint64_t> type;
  const std::vector<uint64_t> values = {10, 11, 12, 13, 14, 15, 16};
  const auto write = [&](RecordFaults faults) {
    CapturePartition partition{1, true};
    RecordWriter::Options options;
    options.faults = &faults;
    const auto writer = RecordWriter::make(options, type, partition, decisions_);
    writer->receive(&values[0], kNoTimestamp);
    RecordBatch batch = batch_of(values, 1);
    writer->receive_batch(batch);
    EXPECT_TRUE(writer->status().ok());
    std::vector<uint64_t> written;
    for (const RecordedElement& element : partition.elements(0))
      written.push_back(Decoder(element.payload).read_fixed<uint64_t>());
    return written;
  };
  using Action = RecordFaults::Action;
  EXPECT_EQ(write(RecordFaults(Action::kLose, 3, false)),
            (std::vector<uint64_t>{10, 11, 13, 14, 15, 16}));
  EXPECT_EQ(write(RecordFaults(Action::kLose, 3, true)),
            (std::vector<uint64_t>{10, 11, 13, 14, 16}));
  EXPECT_EQ(write(RecordFaults(Action::kDouble, 1, false)),
            (std::vector<uint64_t>{10, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(write(RecordFaults(Action::kDouble, 8, false)), values);
}

TEST_F(RecordWriterTest, GivesBatchesAndSingleRecordsToConsumersInOneTurn) {
  const TypedEdge<uint64_t> type;
  const auto writer = make(Partitioning::kRescale, type);
  uint64_t next = 0;
  for (const size_t together : {1u, 7u, 64u, 1u, 3u, 64u, 10u}) {
    std::vector<uint64_t> values;
    for (size_t i = 0; i < together; ++i) values.push_back(next++);
    if (together == 1) {
      writer->receive(&values[0], kNoTimestamp);
    } else {
      RecordBatch batch = batch_of(values);
      writer->receive_batch(batch);
      EXPECT_EQ(batch.begun, together);
    }
  }
  for (uint32_t s = 0; s < kConsumers; ++s) {
    const std::vector<uint64_t> values = written(s);
    ASSERT_EQ(values.size(), next / kConsumers);
    for (uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], s + i * kConsumers);
  }
}

TEST_F(RecordWriterTest, GivesEachRecordOfABatchToSomeConsumer) {
  const TypedEdge<uint64_t> type;
  std::vector<uint64_t> values(60);
  for (const Partitioning partitioning : {Partitioning::kShuffle, Partitioning::kGlobal}) {
    const uint64_t before = partition_.records_written();
    RecordBatch batch = batch_of(values);
    make(partitioning, type)->receive_batch(batch);
    EXPECT_EQ(partition_.records_written() - before, values.size());
  }
}

TEST_F(RecordWriterTest, GoesOnWhereABatchWasBegun) {
  const TypedEdge<uint64_t> type;
  const std::vector<uint64_t> values = {10, 11, 12, 13};
  RecordBatch batch = batch_of(values, 2);
  make(Partitioning::kGlobal, type)->receive_batch(batch);
  EXPECT_EQ(written(0), (std::vector<uint64_t>{12, 13}));
}

TEST_F(RecordWriterTest, WritesWhatIsBeforeARecordThatItCannotAndNothingBehind) {
  const RefusingType type;
  const auto writer = make(Partitioning::kGlobal, type);
  const std::vector<uint64_t> values = {1, 2, 3, 1001, 4};
  RecordBatch batch = batch_of(values);
  EXPECT_THROW(writer->receive_batch(batch), std::invalid_argument);
  EXPECT_EQ(batch.begun, 4u);
  EXPECT_EQ(writer->status().code(), StatusCode::kUserError);
  EXPECT_EQ(written(0), (std::vector<uint64_t>{1, 2, 3}));
  const std::vector<uint64_t> later = {5};
  RecordBatch behind = batch_of(later);
  writer->receive_batch(behind);
  EXPECT_EQ(written(0).size(), 3u);
}

}  // namespace
}  // namespace freshet
