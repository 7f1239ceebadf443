#include "runtime/operators/typed_edge.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

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

}  // namespace
}  // namespace freshet
