#pragma once

namespace freshet {

/// Prints `file:line: CHECK failed: condition` to standard error and aborts. On in every build: a
/// broken invariant is our bug, and failover is the recovery. Never on input from outside.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace freshet

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::freshet::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
