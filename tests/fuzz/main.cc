// What libFuzzer calls; compiled once per target.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  freshet::fuzz::log_nothing();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  freshet::fuzz::FRESHET_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
