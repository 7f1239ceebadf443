#include "shuffle/send_batch.h"

#include <gtest/gtest.h>

#include <cstring>

namespace freshet {
namespace {

Buffer buffer_of(const std::string& bytes) {
  const BlockRef block = Block::on_heap(static_cast<uint32_t>(bytes.size()), nullptr, 0);
  std::memcpy(block->data(), bytes.data(), bytes.size());
  return Buffer(block, block->capacity());
}

std::string joined(const std::vector<OutgoingBytes>& pieces) {
  std::string bytes;
  for (const OutgoingBytes& piece : pieces) bytes += piece.bytes;
  return bytes;
}

std::string framed(const FrameHeader& header, const std::string& payload) {
  std::string bytes(kFrameHeaderBytes, '\0');
  header.encode_to(bytes.data());
  return bytes + payload;
}

TEST(SendBatchTest, KeepsTheOrderOfWhatIsCopiedAndWhatIsNot) {
  SendBatch batch;
  batch.begin("control");
  std::string expected = "control";
  const FrameHeader header;
  for (const size_t size : {10u, kSmallBlockBytes, kSmallBlockBytes + 1, 4000u, 1u}) {
    const std::string payload(size, static_cast<char>('a' + size % 26));
    batch.add(header, buffer_of(payload));
    expected += framed(header, payload);
  }
  const auto pieces = batch.take();
  EXPECT_EQ(joined(pieces), expected);
  EXPECT_EQ(pieces.size(), 6u);  // Control, small ones, large, header, large, small.
}

TEST(SendBatchTest, IsEmptyWithoutAnything) {
  SendBatch batch;
  batch.begin("");
  EXPECT_TRUE(batch.take().empty());
}

TEST(SendBatchTest, LeavesAloneTheBytesOfASendUnderWay) {
  SendBatch batch;
  batch.begin("");
  batch.add(FrameHeader(), buffer_of("first"));
  const auto first = batch.take();
  batch.begin("");
  batch.add(FrameHeader(), buffer_of("other"));
  const auto second = batch.take();
  EXPECT_EQ(joined(first), framed(FrameHeader(), "first"));
  EXPECT_EQ(joined(second), framed(FrameHeader(), "other"));
}

TEST(SendBatchTest, TakesAWholeTurnOfSmallEventsAfterItWasNearlyFull) {
  SendBatch batch;
  batch.begin(std::string((256u << 10) - 1, 'c'));
  EXPECT_FALSE(batch.is_full());
  for (uint32_t bytes = 0; bytes < kLargeBlockBytes; bytes += kFrameHeaderBytes + 9)
    batch.add(FrameHeader(), buffer_of("123456789"));
  EXPECT_TRUE(batch.is_full());
}

}  // namespace
}  // namespace freshet
