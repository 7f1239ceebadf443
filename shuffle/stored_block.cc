#include "shuffle/stored_block.h"

namespace freshet {

Result<Buffer> decode_stored_block(const BlockHeader& header, std::string_view bytes,
                                   const ConstBlockRef& memory, uint32_t subpartition,
                                   ReadPool& pool) {
  RETURN_IF_ERROR(check_block(header, bytes));
  if (header.subpartition != subpartition) return data_loss("a block is of another subpartition");
  Buffer buffer;
  const std::string_view payload = bytes.substr(kBlockHeaderBytes, header.stored_bytes);
  if (header.codec == static_cast<uint8_t>(BlockCodec::kNone)) {
    buffer = Buffer(memory, header.bytes);
    buffer.data = payload.data();
  } else {
    const BlockRef block = pool.allocate(header.bytes);
    RETURN_IF_ERROR(
        decompress_block(BlockCodec{header.codec}, payload, block->data(), header.bytes));
    buffer = Buffer(block, header.bytes);
  }
  buffer.first_element = header.first_element;
  buffer.elements_started = header.elements_started;
  buffer.tail_bytes = header.tail_bytes;
  buffer.hash = static_cast<uint32_t>(header.hash);
  buffer.flags = header.flags;
  buffer.event = header.event != 0;
  return buffer;
}

}  // namespace freshet
