#pragma once

#include <fmt/format.h>

#include <concepts>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace freshet {

/// Appends one record, as text without a line end, to a line. Shared by all subtasks: thread-safe.
using ErasedLineFormat = std::function<void(const void*, std::string& line)>;

/// Strings as they are; what fmt or operator<< can print.
template <class T>
void append_text(const T& value, std::string& line) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    line.append(std::string_view(value));
  } else if constexpr (fmt::is_formattable<T>::value) {
    fmt::format_to(std::back_inserter(line), "{}", value);
  } else {
    static_assert(
        requires(std::ostream & out) { out << value; },
        "give the sink a formatter: this type has no fmt formatter and no operator<<");
    std::ostringstream out;
    out << value;
    line.append(out.view());
  }
}

/// From a function of (const T&, std::string&), which appends, or of (const T&), whose result is
/// appended.
template <class T, class Formatter>
ErasedLineFormat erase_format(Formatter formatter) {
  if constexpr (std::invocable<const Formatter&, const T&, std::string&>) {
    return [formatter = std::move(formatter)](const void* record, std::string& line) {
      formatter(*static_cast<const T*>(record), line);
    };
  } else {
    return [formatter = std::move(formatter)](const void* record, std::string& line) {
      append_text(formatter(*static_cast<const T*>(record)), line);
    };
  }
}

template <class T>
ErasedLineFormat default_format() {
  return [](const void* record, std::string& line) {
    append_text(*static_cast<const T*>(record), line);
  };
}

}  // namespace freshet
