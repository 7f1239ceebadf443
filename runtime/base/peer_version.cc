#include "runtime/base/peer_version.h"

#include <fmt/format.h>

namespace freshet {

namespace {
constexpr size_t kShownMax = 64;
}

std::string to_string(const PeerVersion& version) {
  if (version.library.empty())
    return fmt::format("an unknown version (protocol {})", version.protocol);
  return fmt::format("version {} (protocol {})", version.library.substr(0, kShownMax),
                     version.protocol);
}

Status check_same_version(std::string_view peer, const PeerVersion& of_peer, std::string_view self,
                          const PeerVersion& own) {
  if (of_peer == own) return Status();
  return failed_precondition(fmt::format("{} has {}, {} has {}; both must be the same", peer,
                                         to_string(of_peer), self, to_string(own)));
}

}  // namespace freshet
