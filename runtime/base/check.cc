#include "runtime/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/base/crash_handler.h"

namespace freshet {

void check_failed(const char* file, int line, const char* condition) {
  char text[512];
  std::snprintf(text, sizeof(text), "%s:%d: CHECK failed: %s", file, line, condition);
  std::fprintf(stderr, "%s\n", text);
  std::fflush(stderr);
  note_abort_reason(text);
  std::abort();
}

}  // namespace freshet
