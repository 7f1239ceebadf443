#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace freshet {

/// How a task fails that is told to, by somebody who wants to see what happens then. The numbers
/// travel.
enum class ProvokedFailure : uint8_t {
  kException = 1,  // As if its operator had thrown.
  kHang = 2,       // It never returns, and holds its thread.
  kCrash = 3,      // It brings its process down by SIGSEGV.
};

inline constexpr std::array kProvokedFailures = {ProvokedFailure::kException,
                                                 ProvokedFailure::kHang, ProvokedFailure::kCrash};

/// `exception`, `hang`, `crash`.
constexpr std::string_view to_string(ProvokedFailure failure) {
  switch (failure) {
    case ProvokedFailure::kException:
      return "exception";
    case ProvokedFailure::kHang:
      return "hang";
    case ProvokedFailure::kCrash:
      return "crash";
  }
  return "";
}

/// Whether it is one of them.
constexpr bool is_valid(ProvokedFailure failure) { return !to_string(failure).empty(); }

}  // namespace freshet
