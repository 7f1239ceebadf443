#pragma once

#include <cstdint>

/// The project's version; CMake reads it from here. Processes of different versions refuse each
/// other.
#define FRESHET_VERSION "0.1.0"

namespace freshet {

/// Of the control messages. Rises with every change that an older process would misunderstand.
inline constexpr uint32_t kProtocolVersion = 3;

}  // namespace freshet
