#pragma once

#include <cstdint>
#include <string>

#include "network/transport.h"
#include "runtime/base/status.h"

namespace freshet {

namespace proto {
class HelloReply;
}

enum class HelloRole : uint8_t { kTaskManager, kBlobClient };

/// The first message of a connection to the JobManager.
std::string hello_message(HelloRole, const std::string& library_version, const std::string& secret);

/// Whether the JobManager there is of this TaskManager's version: it may be one that takes others,
/// or that says so in words of its own.
Status check_version_of(const Address& job_manager, const proto::HelloReply&,
                        const std::string& library_version);

}  // namespace freshet
