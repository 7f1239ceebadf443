#include "runtime/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace freshet {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace freshet
