#include "runtime/cli/progress_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace freshet::cli {

namespace {

constexpr size_t kUsualColumns = 80;

class ErrorScreen final : public ProgressScreen {
 public:
  void write(std::string_view text) override {
    fmt::print(stderr, "{}", text);
    std::fflush(stderr);
  }

  size_t columns() const override {
    if (isatty(STDERR_FILENO) != 1) return 0;
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : kUsualColumns;
  }
};

}  // namespace

std::unique_ptr<ProgressScreen> make_error_screen() { return std::make_unique<ErrorScreen>(); }

}  // namespace freshet::cli
