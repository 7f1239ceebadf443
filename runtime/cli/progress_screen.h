#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace freshet::cli {

/// Where progress is shown.
class ProgressScreen {
 public:
  virtual ~ProgressScreen() = default;

  /// Shows the text at once.
  virtual void write(std::string_view text) = 0;

  /// How wide the terminal is now; 0: it is no terminal.
  virtual size_t columns() const = 0;
};

/// Standard error, which leaves standard output to what jobs print.
std::unique_ptr<ProgressScreen> make_error_screen();

}  // namespace freshet::cli
