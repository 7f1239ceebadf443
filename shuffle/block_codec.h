#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet {

/// How a block's bytes are kept in a file.
enum class BlockCodec : uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

inline constexpr uint8_t kBlockCodecs = 3;

/// `none`, `lz4`, `zstd`.
std::string_view to_string(BlockCodec);
Result<BlockCodec> parse_block_codec(std::string_view text);

/// Makes blocks smaller with one codec. Has what that needs to work with, about 130 KB for lz4 and
/// a megabyte for zstd, from the first block on.
class BlockCompressor {
 public:
  explicit BlockCompressor(BlockCodec codec);
  ~BlockCompressor();
  BlockCompressor(const BlockCompressor&) = delete;
  BlockCompressor& operator=(const BlockCompressor&) = delete;

  BlockCodec codec() const { return codec_; }

  /// Writes `bytes` to `to` in fewer than `size_max` bytes and returns their number; 0 when they
  /// need more, or when the codec is kNone.
  size_t compress(std::string_view bytes, char* to, size_t size_max);

 private:
  struct State;
  const BlockCodec codec_;
  std::unique_ptr<State> state_;
};

/// Makes of `stored` exactly `size` bytes at `to`. kDataLoss when they are not that. Thread-safe.
Status decompress_block(BlockCodec codec, std::string_view stored, char* to, size_t size);

}  // namespace freshet
