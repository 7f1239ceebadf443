#pragma once

#include <cstdint>
#include <string>

namespace freshet {

enum class HelloRole : uint8_t { kTaskManager, kBlobClient };

/// The first message of a connection to the JobManager.
std::string hello_message(HelloRole, const std::string& library_version, const std::string& secret);

}  // namespace freshet
