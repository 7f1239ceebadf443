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
        assign_text(to, memory.get(), size, readable);
        EXPECT_EQ(to, source.substr(0, size));
        EXPECT_EQ(to.c_str()[size], '\0');
      }
    }
  }
}

TEST(ShortTextTest, KeepsTheMemoryOfALongText) {
  std::string to(1000, '-');
  const size_t capacity = to.capacity();
  assign_text(to, "short and more than a word", 5, 26);
  EXPECT_EQ(to, "short");
  EXPECT_EQ(to.capacity(), capacity);
}

}  // namespace
}  // namespace freshet
