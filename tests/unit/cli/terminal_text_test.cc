#include "runtime/cli/terminal_text.h"

#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

TEST(TerminalTextTest, ShowsWhatATerminalWouldObey) {
  const std::string text = "two\nlines,\ta \x1b[31mcolour\r\a\x7f, \xc3\xa9";
  EXPECT_EQ(terminal_text(text), "two\nlines,\ta \\x1b[31mcolour\\x0d\\x07\\x7f, \xc3\xa9");
  EXPECT_EQ(terminal_line(text), "two\\x0alines,\\x09a \\x1b[31mcolour\\x0d\\x07\\x7f, \xc3\xa9");
}

}  // namespace
}  // namespace freshet::cli
