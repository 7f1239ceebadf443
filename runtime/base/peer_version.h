#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet {

/// What a process says of itself when it meets another one.
struct PeerVersion {
  std::string library;
  uint32_t protocol = 0;
  bool operator==(const PeerVersion&) const = default;
};

/// `version 0.1.0 (protocol 1)`. What came from outside is shortened.
std::string to_string(const PeerVersion&);

/// kFailedPrecondition when the two differ: `the JobManager at 10.0.0.7:6123 has version 0.2.0
/// (protocol 2), this TaskManager has version 0.1.0 (protocol 1); both must be the same`.
Status check_same_version(std::string_view peer, const PeerVersion& of_peer, std::string_view self,
                          const PeerVersion& own);

}  // namespace freshet
