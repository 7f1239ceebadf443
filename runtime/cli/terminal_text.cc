#include "runtime/cli/terminal_text.h"

#include <fmt/format.h>

#include <iterator>

namespace freshet::cli {

namespace {

std::string shown(std::string_view text, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < ' ' || byte == 0x7f;
    if (control && kept.find(c) == kept.npos)
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte);
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string terminal_text(std::string_view text) { return shown(text, "\n\t"); }

std::string terminal_line(std::string_view text) { return shown(text, ""); }

}  // namespace freshet::cli
