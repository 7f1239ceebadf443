#include "runtime/base/short_text.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet {
namespace {

TEST(ShortTextTest, ComparesAsStringsDo) {
  for (size_t size = 0; size < 40; size++) {
    const std::string text(size, 'x');
    std::string same = text + "behind it";
    same.resize(size);  // What is behind the text differs.
    EXPECT_TRUE(equal_texts(text, same)) << size;
    EXPECT_FALSE(equal_texts(text, text + "x")) << size;
    for (size_t i = 0; i < size; i++) {
      std::string other = text;
      other[i] = '\0';
      EXPECT_FALSE(equal_texts(text, other)) << size << " " << i;
      EXPECT_FALSE(equal_texts(other, text)) << size << " " << i;
    }
  }
}

TEST(ShortTextTest, AssignsWhateverWasThereAndIsBehind) {
  const std::string source = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (size_t size = 0; size <= 20; size++) {
    for (size_t readable = size; readable <= size + 17; readable++) {
      // So much memory and no more: a sanitizer sees who reads too far.
      const auto memory = std::make_unique<char[]>(readable);
      std::memcpy(memory.get(), source.data(), std::min(readable, source.size()));
      for (const size_t before : {0, 1, 15, 16, 100}) {
        std::string to(before, '-');
        const bool possible =
            before <= 15 && ((size <= 8 && readable >= 8) || (size <= 15 && readable >= 15));
        ASSERT_EQ(assign_short_text(to, memory.get(), size, readable), possible);
        EXPECT_EQ(to, possible ? source.substr(0, size) : std::string(before, '-'));
        EXPECT_EQ(to.c_str()[to.size()], '\0');
      }
    }
  }
}

}  // namespace
}  // namespace freshet
