#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/api/environment.h"
#include "runtime/base/version.h"

/// Raised when the library comes to mean something else by the same headers.
#ifndef FRESHET_ABI_REVISION
#define FRESHET_ABI_REVISION 4
#endif

/// Of all that a module sees of the library, to the last declaration. tests/tidy says what it is.
#define FRESHET_ABI_HEADERS 0xd7cbfd2cu

namespace freshet {

/// What a module and the library must agree on before code of one runs in the other: a text in the
/// module's data, read from its file before anything of it runs.
struct AbiStamp {
  char text[128];
};

namespace abi_detail {

constexpr void append(AbiStamp& stamp, size_t& length, std::string_view text) {
  for (const char c : text) {
    if (length + 1 < sizeof(stamp.text)) stamp.text[length++] = c;
  }
}

constexpr void append(AbiStamp& stamp, size_t& length, uint64_t number) {
  char digits[20] = {};
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) append(stamp, length, std::string_view(&digits[--count], 1));
}

constexpr std::string_view sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return "address";
#elif defined(__SANITIZE_THREAD__)
  return "thread";
#else
  return "none";
#endif
}

/// A hash of the sizes of what crosses the border.
constexpr uint64_t layout() {
  uint64_t hash = 17;
  for (const size_t size :
       {sizeof(Environment), sizeof(GraphBuilder), sizeof(LogicalOperator), sizeof(StreamEnd),
        sizeof(BuildOptions), sizeof(Operator), sizeof(CommittableBytes), sizeof(Split),
        sizeof(Encoder), sizeof(Decoder), sizeof(Status), sizeof(std::string), sizeof(long double),
        sizeof(std::shared_ptr<int>), sizeof(std::map<int, int>), sizeof(Arguments)}) {
    hash = (hash ^ size) * 1'099'511'628'211ull;
  }
  return hash % 1'000'000'007;
}

}  // namespace abi_detail

/// Of the code that is being compiled.
constexpr AbiStamp make_abi_stamp() {
  AbiStamp stamp{};
  size_t length = 0;
  using abi_detail::append;
  append(stamp, length, "freshet " FRESHET_VERSION " revision ");
  append(stamp, length, uint64_t{FRESHET_ABI_REVISION});
  append(stamp, length, " headers ");
  append(stamp, length, uint64_t{FRESHET_ABI_HEADERS});
#if defined(__GLIBCXX__)
  append(stamp, length, " libstdc++ ");
  append(stamp, length, uint64_t{_GLIBCXX_RELEASE});
  append(stamp, length, _GLIBCXX_USE_CXX11_ABI ? " cxx11" : " old strings");
#else
  append(stamp, length, " another standard library");
#endif
#if defined(_GLIBCXX_DEBUG)
  append(stamp, length, " debug");
#endif
  append(stamp, length, " sanitizer ");
  append(stamp, length, abi_detail::sanitizer());
  append(stamp, length, " layout ");
  append(stamp, length, abi_detail::layout());
  return stamp;
}

/// Of this library, as it was compiled.
std::string_view library_abi_stamp();

}  // namespace freshet
