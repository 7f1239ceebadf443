#pragma once

#include "runtime/base/record_layout.h"
#include "shuffle/element.h"

namespace freshet {

// Records travel as in runtime/base/record_layout.h; their timestamps are there when the frame in
// which they start has kFrameHasTimestamps. An event frame's payload:
//
//   event := u8 ElementKind, fields

/// Throws CodecError when a record has not the size that all have (`fixed_record_size`, unless it
/// is 0), or more than kRecordBytesMax: what a codec does wrong is its own error.
void check_record_size(size_t bytes, uint32_t fixed_record_size);

}  // namespace freshet
