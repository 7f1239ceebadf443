#pragma once

#include <string>
#include <string_view>

namespace freshet::cli {

// What users and their code say may hold anything, and a terminal obeys control characters: they
// are shown as `\x1b`.

/// Line ends and tabs stay.
std::string terminal_text(std::string_view);

/// One line, for tables.
std::string terminal_line(std::string_view);

}  // namespace freshet::cli
