#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/connectors/byte_stream.h"

namespace freshet {

/// Over TCP. Of several addresses of a name the first that answers. Opens nothing before the first
/// next().
std::unique_ptr<ByteStream> make_tcp_stream(std::string host, uint16_t port);

}  // namespace freshet
