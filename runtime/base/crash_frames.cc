#include "runtime/base/crash_frames.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <boost/stacktrace/frame.hpp>
#include <cstdint>

namespace freshet {

namespace {

constexpr size_t kOwnFramesMax = 8;  // Of the handler itself.
// What a function that is just called may touch first; a larger frame is probed page by page.
constexpr uintptr_t kBelowStackMax = 64u << 10;

struct Registers {
  uintptr_t program = 0;
  uintptr_t stack = 0;
  uintptr_t frame = 0;
  uintptr_t link = 0;  // Where a call returns to, on machines that keep that in a register.
};

Registers registers_of(void* context) {
  Registers registers;
  [[maybe_unused]] const auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  registers.program = static_cast<uintptr_t>(machine.gregs[REG_RIP]);
  registers.stack = static_cast<uintptr_t>(machine.gregs[REG_RSP]);
  registers.frame = static_cast<uintptr_t>(machine.gregs[REG_RBP]);
#elif defined(__aarch64__)
  registers.program = machine.pc;
  registers.stack = machine.sp;
  registers.frame = machine.regs[29];
  registers.link = machine.regs[30];
#endif
  return registers;
}

/// By the kernel, which says no where a load would crash again.
bool read_words(uintptr_t from, uintptr_t* words, size_t count) {
  const size_t bytes = count * sizeof(uintptr_t);
  iovec to{words, bytes};
  iovec at{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &to, 1, &at, 1, 0) == static_cast<ssize_t>(bytes);
}

/// For where the unwinder has no table: a call through a null pointer, code made at run time.
size_t follow_frame_pointers(const Registers& registers, void** addresses, size_t max) {
  size_t count = 0;
  addresses[count++] = reinterpret_cast<void*>(registers.program);
  uintptr_t caller = registers.link;
  if (caller == 0) (void)read_words(registers.stack, &caller, 1);
  if (caller != 0 && count < max) addresses[count++] = reinterpret_cast<void*>(caller);
  uintptr_t frame = registers.frame;
  while (count < max) {
    uintptr_t words[2];  // The caller's frame, and where to return to.
    if (frame % sizeof(uintptr_t) != 0 || !read_words(frame, words, 2)) break;
    if (words[1] == 0) break;
    addresses[count++] = reinterpret_cast<void*>(words[1]);
    if (words[0] <= frame) break;  // Callers are further up.
    frame = words[0];
  }
  return count;
}

void replace_all(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = text->find(from); at != text->npos; at = text->find(from, at + to.size()))
    text->replace(at, from.size(), to);
}

/// As people write it.
std::string readable(std::string name) {
  replace_all(&name,
              "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
              "std::string");
  replace_all(&name, "std::basic_string_view<char, std::char_traits<char> >", "std::string_view");
  replace_all(&name, "std::__cxx11::", "std::");
  replace_all(&name, "(anonymous namespace)::", "");
  replace_all(&name, " [clone .cold]", "");
  replace_all(&name, " [clone .isra.0]", "");
  return name;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

NamedFrame name_frame(const void* address, bool is_return_address) {
  NamedFrame named;
  Dl_info info{};
  const bool known = dladdr(address, &info) != 0 && info.dli_fname != nullptr;
  if (known) named.object = info.dli_fname;
  // What is returned to may be the next line, or the next function.
  const char* const at = static_cast<const char*>(address) - (is_return_address ? 1 : 0);
  const boost::stacktrace::frame frame(at);
  const std::string name = known ? frame.name() : std::string();
  const std::string file = known ? frame.source_file() : std::string();
  if (name.empty()) {
    named.text = fmt::format("{}", address);
  } else {
    named.text = readable(name);
  }
  if (!file.empty()) {
    named.text += fmt::format(" at {}:{}", file_name(file), frame.source_line());
  } else if (known) {
    named.text += " in " + file_name(named.object);
  }
  return named;
}

}  // namespace

void prepare_to_walk() {
  void* first[1];
  (void)backtrace(first, 1);  // Loads the unwinder, which a handler must not.
}

bool is_stack_overflow(void* context, const void* address) {
  const uintptr_t stack = registers_of(context).stack;
  const auto at = reinterpret_cast<uintptr_t>(address);
  return at + kBelowStackMax > stack && at < stack + kBelowStackMax;
}

size_t walk_stack(void* context, void** addresses, size_t max) {
  const Registers registers = registers_of(context);
  constexpr size_t kAll = 128;
  void* all[kAll];
  const auto found =
      static_cast<size_t>(backtrace(all, static_cast<int>(std::min(kAll, max + kOwnFramesMax))));
  size_t begin = 0;
  while (begin < found && reinterpret_cast<uintptr_t>(all[begin]) != registers.program) ++begin;
  if (begin + 1 >= found) return follow_frame_pointers(registers, addresses, max);
  size_t count = 0;
  for (; begin < found && count < max; ++begin) addresses[count++] = all[begin];
  return count;
}

std::vector<NamedFrame> name_frames(void* const* addresses, size_t count) {
  std::vector<NamedFrame> frames;
  for (size_t i = 0; i < count; ++i) frames.push_back(name_frame(addresses[i], i > 0));
  return frames;
}

}  // namespace freshet
