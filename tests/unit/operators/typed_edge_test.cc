#include "runtime/operators/typed_edge.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "runtime/operators/custom_edge.h"
#include "runtime/operators/permanent_failure.h"
#include "runtime/operators/source.h"
#include "runtime/operators/split_edges.h"
#include "runtime/testing/operator_harness.h"

namespace freshet {
namespace {

using Word = std::pair<std::string, int64_t>;

std::shared_ptr<const EdgeType> by_first() {
  return std::make_shared<KeyedEdge<std::string, Word>>(
      std::make_shared<FunctionKeySelector<std::string, Word, std::string Word::*>>(&Word::first));
}

TEST(TypedEdgeTest, CarriesRecordsAndRefusesBytesThatAreLeftOver) {
  const auto edge = by_first();
  EXPECT_EQ(edge->fingerprint(), "pair<string,i64>");
  EXPECT_EQ(edge->fixed_size(), 0u);
  const auto reader = edge->make_reader();
  testing::CollectedOutput<Word> output;
  for (const Word& word : {Word("a", 1), Word("", -1), Word(std::string(1000, 'x'), 7)}) {
    Encoder encoder;
    edge->encode(&word, encoder);
    reader->read(encoder.bytes(), 5, output);
    EXPECT_EQ(output.entries.back().record, word);
    EXPECT_EQ(output.entries.back().timestamp, 5);
    EXPECT_THROW(reader->read(std::string(encoder.bytes()) + "x", 5, output), CodecError);
  }
}

/// Records as they lie in a buffer.
std::string run_of(const EdgeType& edge, const std::vector<Word>& words) {
  std::string bytes;
  for (const Word& word : words) {
    Encoder encoder;
    edge.encode(&word, encoder);
    char length[kVarintBytesMax];
    bytes.append(length, put_varint(length, encoder.bytes().size()));
    bytes += encoder.bytes();
  }
  return bytes;
}

TEST(TypedEdgeTest, ReadsARunAsItReadsOneAfterTheOther) {
  const auto edge = by_first();
  std::vector<Word> words;
  for (int i = 0; i < 300; i++) words.emplace_back(std::string(i % 20, 'w'), i);
  const std::string bytes = run_of(*edge, words);
  const bool go_on = false;
  for (const uint32_t most : {1u, 7u, 63u, 64u, 65u, 128u, 300u, 1000u}) {
    const auto reader = edge->make_reader();
    testing::CollectedOutput<Word> output;
    RecordRun run({}, bytes, most, &go_on);
    reader->read_run(run, output);
    ASSERT_EQ(output.entries.size(), std::min<size_t>(most, words.size()));
    EXPECT_EQ(run.records(), output.entries.size());
    for (size_t i = 0; i < output.entries.size(); i++)
      EXPECT_EQ(output.entries[i].record, words[i]);
    EXPECT_EQ(reader->read_ahead(), 0u);
  }
  // A last record that is cut off is left alone.
  const auto reader = edge->make_reader();
  testing::CollectedOutput<Word> output;
  RecordRun run({}, std::string_view(bytes).substr(0, bytes.size() - 1), 1000, &go_on);
  reader->read_run(run, output);
  EXPECT_EQ(output.entries.size(), 299u);
}

TEST(TypedEdgeTest, GivesLargeRecordsInSmallBatches) {
  using Large = std::array<int64_t, 1000>;
  class Batches final : public RecordReceiver {
   public:
    void receive(const void*, EpochMillis) override {}
    void receive_batch(RecordBatch& batch) override {
      for (; batch.begun < batch.count; batch.begun++)
        first.push_back((*static_cast<const Large*>(batch.records[batch.begun]))[0]);
    }
    std::vector<int64_t> first;
  } batches;
  std::string bytes;
  for (int64_t i = 0; i < 5; i++) {
    Encoder encoder;
    Codec<Large>::encode(Large{i}, encoder);
    bytes += encoder.bytes();
  }
  const bool go_on = false;
  RecordRun run({sizeof(Large), false}, bytes, 100, &go_on);
  TypedEdge<Large>().make_reader()->read_run(run, batches);
  EXPECT_EQ(batches.first, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(TypedEdgeTest, ProcessesWhatIsBeforeABadRecordOfARun) {
  const auto edge = by_first();
  const std::string bytes = run_of(*edge, {{"a", 1}, {"b", 2}, {"c", 3}}) + std::string("\x01\x09");
  const auto reader = edge->make_reader();
  testing::CollectedOutput<Word> output;
  const bool go_on = false;
  RecordRun run({}, bytes, 100, &go_on);
  EXPECT_THROW(reader->read_run(run, output), CodecError);
  EXPECT_EQ(output.entries.size(), 3u);
  EXPECT_EQ(run.records(), 4u);  // The bad one is the last.
  EXPECT_EQ(reader->read_ahead(), 0u);
}

TEST(KeyedEdgeTest, HashesTheSerialisedKeyWhateverElseIsInTheRecord) {
  const auto edge = by_first();
  Encoder scratch;
  for (const std::string& key : {std::string(), std::string("word"), std::string(500, 'k')}) {
    Encoder encoder;
    Codec<std::string>::encode(key, encoder);
    const Word one(key, 1), other(key, 2);
    EXPECT_EQ(edge->key_hash(&one, scratch), hash_key(encoder.bytes()));
    EXPECT_EQ(edge->key_hash(&other, scratch), hash_key(encoder.bytes()));
  }
}

TEST(SplitEdgeTest, SendsASplitToTheReaderThatItNamesAndThrowsWhenThereIsNone) {
  const auto edge = make_split_edge();
  const Split split{2, "payload"};
  EXPECT_EQ(edge->target(&split, 3), 2u);
  EXPECT_THROW(edge->target(&split, 2), std::out_of_range);
}

template <class P>
std::shared_ptr<const EdgeType> custom_by_second(P partitioner) {
  const auto second = [](const Word& word) { return word.second; };
  return std::make_shared<CustomEdge<int64_t, Word, P, decltype(second)>>(partitioner, second);
}

std::string thrown_by(const EdgeType& edge, int64_t key) {
  try {
    const Word word("w", key);
    (void)edge.target(&word, 4);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

TEST(CustomEdgeTest, SendsARecordWhereTheFunctionOfItsKeySays) {
  const auto edge = custom_by_second([](const int64_t& key, uint32_t partitions) {
    return static_cast<uint32_t>(key) % partitions;
  });
  for (int64_t key = 0; key < 20; key++) {
    const Word word("w", key);
    EXPECT_EQ(edge->target(&word, 4), key % 4);
  }
  EXPECT_EQ(edge->fingerprint(), by_first()->fingerprint());
}

TEST(CustomEdgeTest, ThrowsForAPartitionThatIsNotThere) {
  const auto edge = custom_by_second([](const int64_t& key, uint32_t) { return key; });
  EXPECT_EQ(thrown_by(*edge, 3), "nothing");
  EXPECT_EQ(thrown_by(*edge, 4),
            "the partitioner of partition_custom() chose partition 4 of 4; it must give 0 to 3");
  EXPECT_EQ(thrown_by(*edge, -1),
            "the partitioner of partition_custom() chose partition -1 of 4; it must give 0 to 3");
}

TEST(CustomEdgeTest, SaysWhoseFunctionThrew) {
  const auto edge = custom_by_second(
      [](const int64_t&, uint32_t) -> uint32_t { throw std::runtime_error("no idea"); });
  EXPECT_EQ(thrown_by(*edge, 1), "partition_custom() threw: no idea");
  const auto odd = custom_by_second([](const int64_t&, uint32_t) -> uint32_t { throw 7; });
  EXPECT_EQ(thrown_by(*odd, 1), "partition_custom() threw something that is no std::exception");
  const auto for_good = custom_by_second(
      [](const int64_t&, uint32_t) -> uint32_t { throw PermanentFailure("never"); });
  const Word word("w", 1);
  EXPECT_THROW((void)for_good->target(&word, 4), PermanentFailure);
}

}  // namespace
}  // namespace freshet
