#include "shuffle/block_codec.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace freshet {

namespace {

constexpr int kZstdLevel = 1;

}  // namespace

struct BlockCompressor::State {
  ~State() { ZSTD_freeCCtx(zstd); }
  std::unique_ptr<char[]> lz4;
  ZSTD_CCtx* zstd = nullptr;
};

std::string_view to_string(BlockCodec codec) {
  switch (codec) {
    case BlockCodec::kNone:
      return "none";
    case BlockCodec::kLz4:
      return "lz4";
    case BlockCodec::kZstd:
      return "zstd";
  }
  return "unknown";
}

Result<BlockCodec> parse_block_codec(std::string_view text) {
  for (uint8_t codec = 0; codec < kBlockCodecs; ++codec) {
    if (to_string(BlockCodec{codec}) == text) return BlockCodec{codec};
  }
  return invalid_argument(fmt::format("no codec '{}'; there are none, lz4 and zstd", text));
}

BlockCompressor::BlockCompressor(BlockCodec codec)
    : codec_(codec), state_(std::make_unique<State>()) {}

BlockCompressor::~BlockCompressor() = default;

size_t BlockCompressor::compress(std::string_view bytes, char* to, size_t size_max) {
  if (codec_ == BlockCodec::kNone || size_max < 2) return 0;
  const size_t most = size_max - 1;
  if (codec_ == BlockCodec::kLz4) {
    if (!state_->lz4)
      state_->lz4 = std::make_unique<char[]>(static_cast<size_t>(LZ4_sizeofState()));
    const int size =
        LZ4_compress_fast_extState(state_->lz4.get(), bytes.data(), to,
                                   static_cast<int>(bytes.size()), static_cast<int>(most), 1);
    return size > 0 ? static_cast<size_t>(size) : 0;
  }
  if (state_->zstd == nullptr) state_->zstd = ZSTD_createCCtx();
  if (state_->zstd == nullptr) return 0;
  const size_t size =
      ZSTD_compressCCtx(state_->zstd, to, most, bytes.data(), bytes.size(), kZstdLevel);
  return ZSTD_isError(size) != 0 ? 0 : size;
}

Status decompress_block(BlockCodec codec, std::string_view stored, char* to, size_t size) {
  size_t got = 0;
  switch (codec) {
    case BlockCodec::kNone:
      got = stored.size();
      if (got == size) std::memcpy(to, stored.data(), size);
      break;
    case BlockCodec::kLz4: {
      const int bytes = LZ4_decompress_safe(stored.data(), to, static_cast<int>(stored.size()),
                                            static_cast<int>(size));
      if (bytes < 0) return data_loss("lz4 cannot read it");
      got = static_cast<size_t>(bytes);
      break;
    }
    case BlockCodec::kZstd:
      got = ZSTD_decompress(to, size, stored.data(), stored.size());
      if (ZSTD_isError(got) != 0)
        return data_loss(fmt::format("zstd cannot read it: {}", ZSTD_getErrorName(got)));
      break;
  }
  if (got != size)
    return data_loss(fmt::format("{} bytes came out of it instead of {}", got, size));
  return Status();
}

}  // namespace freshet
