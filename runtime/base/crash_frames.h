#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace freshet {

/// The return addresses of a thread that a signal interrupted, the interrupted one first.
/// `context`: the handler's third argument. Fit for signal handlers once prepare_to_walk() was
/// called.
size_t walk_stack(void* context, void** addresses, size_t max);
void prepare_to_walk();

/// Whether what could not be touched is where the stack was about to go.
bool is_stack_overflow(void* context, const void* address);

struct NamedFrame {
  std::string text;    // `count(std::string const&) at job.cc:12`, or `0x1234 in job.so`.
  std::string object;  // Path of the executable or library; may be empty.
};

/// Names from symbol tables and line tables. Takes memory and opens files.
std::vector<NamedFrame> name_frames(void* const* addresses, size_t count);

}  // namespace freshet
