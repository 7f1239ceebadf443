#pragma once

#include "runtime/base/record_layout.h"
#include "shuffle/element.h"

namespace freshet {

// Records travel as in runtime/base/record_layout.h; their timestamps are there when the frame in
// which they start has kFrameHasTimestamps. An event frame's payload:
//
//   event := u8 ElementKind, fields

}  // namespace freshet
