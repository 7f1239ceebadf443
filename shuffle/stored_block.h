#pragma once

#include <string_view>

#include "runtime/base/status.h"
#include "shuffle/buffer.h"
#include "shuffle/partition_file_format.h"
#include "shuffle/read_pool.h"

namespace freshet {

/// The buffer of the block that `bytes` begin with, of which `header` is the header. It shares
/// `memory`, in which these bytes are, unless they have to be decompressed. kDataLoss when they are
/// not what was written for `subpartition`.
Result<Buffer> decode_stored_block(const BlockHeader& header, std::string_view bytes,
                                   const ConstBlockRef& memory, uint32_t subpartition,
                                   ReadPool& pool);

}  // namespace freshet
