#pragma once

#include <cstdint>

namespace freshet::bench {

/// Bytes that operator new has given out and that are still held, in programs that link
/// counting_allocator.cc; 0 in others. Rounded up as malloc does.
uint64_t allocated_bytes();

/// Resident bytes of this process.
uint64_t resident_bytes();

/// CPU time of the calling thread, in milliseconds.
double thread_cpu_ms();

/// The same of one step.
template <class Step>
double cpu_ms_of(Step step) {
  const double begin = thread_cpu_ms();
  step();
  return thread_cpu_ms() - begin;
}

}  // namespace freshet::bench
