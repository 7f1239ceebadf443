#include "shuffle/element_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/encoding.h"
#include "runtime/base/hash.h"
#include "shuffle/result_partition.h"

namespace freshet {

ChannelPosition position_of(const std::vector<ChannelPosition>& positions, uint32_t peer) {
  const auto at = std::lower_bound(
      positions.begin(), positions.end(), peer,
      [](const ChannelPosition& position, uint32_t p) { return position.peer < p; });
  return at != positions.end() && at->peer == peer ? *at : ChannelPosition{peer, 0, 0};
}

std::vector<ChannelPosition> with_start(const std::vector<ChannelPosition>& positions,
                                        const std::vector<ChannelPosition>& start) {
  std::vector<ChannelPosition> all;
  std::ranges::set_union(positions, start, std::back_inserter(all), {}, &ChannelPosition::peer,
                         &ChannelPosition::peer);
  return all;
}

void check_record_size(size_t bytes, uint32_t fixed_record_size) {
  if (fixed_record_size != 0 && bytes != fixed_record_size) [[unlikely]] {
    throw CodecError(fmt::format("its codec wrote {} bytes, and says that each has {}", bytes,
                                 fixed_record_size));
  }
  if (bytes > kRecordBytesMax) [[unlikely]] {
    throw CodecError(
        fmt::format("it has {} bytes; at most {} are possible", bytes, kRecordBytesMax));
  }
}

uint64_t rolling_hash(uint64_t running, ElementKind kind, EpochMillis timestamp,
                      std::string_view payload) {
  uint64_t hash = hash_combine(running, static_cast<uint64_t>(kind) + 1);
  hash = hash_combine(hash, static_cast<uint64_t>(timestamp));
  return hash_combine(hash, hash_bytes(payload));
}

}  // namespace freshet
