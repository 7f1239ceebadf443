#include "runtime/base/encoding.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet {
namespace {

TEST(EncoderTest, MovesToItsOwnMemoryWhenTheGivenOneIsFull) {
  for (size_t room = 0; room <= 40; room++) {
    std::vector<char> memory(room + 1);
    Encoder encoder;
    encoder.start(memory.data(), memory.data() + room);
    encoder.write_string("a string of some length");
    encoder.write_varint(300);
    encoder.write_fixed<uint32_t>(7);
    EXPECT_EQ(encoder.in_place(), room >= 30) << room;
    Decoder decoder(encoder.bytes());
    EXPECT_EQ(decoder.read_string(), "a string of some length");
    EXPECT_EQ(decoder.read_varint(), 300u);
    EXPECT_EQ(decoder.read_fixed<uint32_t>(), 7u);
    EXPECT_EQ(decoder.remaining(), 0u);
  }
}

TEST(EncoderTest, StartsAnewAfterAnOverflow) {
  Encoder encoder;
  char memory[8];
  encoder.start(memory, memory + 8);
  encoder.write_string(std::string(1000, 'x'));
  EXPECT_FALSE(encoder.in_place());
  encoder.start(memory, memory + 8);
  encoder.write_fixed<uint64_t>(42);
  EXPECT_TRUE(encoder.in_place());
  EXPECT_EQ(encoder.bytes().data(), memory);
}

TEST(EncoderTest, WritesTextsAsStringsWhateverTheRoom) {
  for (size_t size = 0; size < 20; size++) {
    const std::string text(size, 't');
    for (size_t room = 0; room <= 40; room++) {
      const auto memory = std::make_unique<char[]>(room);  // So that a sanitizer sees its end.
      Encoder encoder;
      encoder.start(memory.get(), memory.get() + room);
      encoder.write_text(text);
      encoder.write_fixed<uint32_t>(7);
      EXPECT_EQ(encoder.in_place(), room >= size + 5) << size << " " << room;
      Decoder decoder(encoder.bytes());
      EXPECT_EQ(decoder.read_string(), text);
      EXPECT_EQ(decoder.read_fixed<uint32_t>(), 7u);
      EXPECT_EQ(decoder.remaining(), 0u);
    }
  }
}

TEST(DecoderTest, ReadsTextsWhateverIsBehind) {
  std::string text = "old";
  for (size_t size = 0; size < 300; size++) {
    for (size_t behind = 0; behind < 18; behind++) {
      const std::string expected(size, static_cast<char>('a' + size % 26));
      Encoder encoder;
      encoder.write_string(expected);
      encoder.write(std::string(behind, '!').data(), behind);
      const std::vector<char> exact(encoder.bytes().begin(), encoder.bytes().end());
      Decoder decoder({exact.data(), exact.size()});
      decoder.read_text(text);
      EXPECT_EQ(text, expected);
      EXPECT_EQ(decoder.remaining(), behind);
    }
  }
  EXPECT_THROW(Decoder("\x05"
                       "abc")
                   .read_text(text),
               CodecError);
}

TEST(DecoderTest, ThrowsInsteadOfReadingTooFar) {
  EXPECT_THROW(Decoder("abc").read_fixed<uint32_t>(), CodecError);
  EXPECT_THROW(Decoder("\x05"
                       "abc")
                   .read_string(),
               CodecError);
  EXPECT_THROW(Decoder("").read_varint(), CodecError);
  EXPECT_THROW(Decoder(std::string(11, '\xff')).read_varint(), CodecError);
  EXPECT_THROW(Decoder("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").read_string(), CodecError);
}

TEST(DecoderTest, ReadsVarintsOfEveryLength) {
  for (int bit = 0; bit < 64; bit++) {
    const uint64_t value = (uint64_t{1} << bit) + (bit % 3);
    Encoder encoder;
    encoder.write_varint(value);
    Decoder decoder(encoder.bytes());
    EXPECT_EQ(decoder.read_varint(), value);
  }
}

}  // namespace
}  // namespace freshet
