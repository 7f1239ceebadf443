#pragma once

#include <sys/types.h>

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet::bench {

// What the kernel says about a process that runs; kNotFound when it has ended.

/// Its part of the memory that it holds: a page that n processes hold counts 1/n.
Result<uint64_t> proportional_bytes(pid_t pid);

/// The most memory that it ever held.
Result<uint64_t> peak_resident_bytes(pid_t pid);

Result<uint64_t> thread_count(pid_t pid);

/// Memory of the machine that programs may still take.
Result<uint64_t> available_bytes();

/// That it has used so far, of user and system together.
Result<Duration> cpu_time(pid_t pid);

}  // namespace freshet::bench
