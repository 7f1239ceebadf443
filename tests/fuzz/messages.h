#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/proto/control.pb.h"

namespace freshet::fuzz {

// Control messages as text, one a line, which is how inputs have them: what a fuzzer makes of it is
// a message again more often than if it changed the bytes, and people can read it.

std::string as_line(const proto::Envelope&);
/// Nullopt for what is no message.
std::optional<proto::Envelope> from_line(std::string_view line);

/// With the header that a message has in a stream.
std::string on_the_wire(const std::string& payload);
/// The messages of a stream that a process sent, all of them sound.
std::vector<proto::Envelope> off_the_wire(std::string_view stream);

}  // namespace freshet::fuzz
