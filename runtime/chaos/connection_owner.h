#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/file_system.h"
#include "runtime/chaos/tcp_socket.h"

namespace freshet::chaos {

/// Which of `candidates` has the socket of this connection at its `local` end; the other ends are
/// on this machine, too. Nullopt when none has, or it is closed already.
///
/// Reads the kernel's table of connections up to that one, at most 16 MiB, and then the descriptors
/// of the candidates: some milliseconds in the worst case.
std::optional<pid_t> owner_of(const ConnectionEnds&, std::span<const pid_t> candidates,
                              FileSystem&);

/// The number by which descriptors name a socket, from the text of /proc/net/tcp. `text` begins at
/// any row.
std::optional<uint64_t> socket_number(const ConnectionEnds&, std::string_view text);

}  // namespace freshet::chaos
