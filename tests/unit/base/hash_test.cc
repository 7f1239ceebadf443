#include "runtime/base/hash.h"

#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freshet {
namespace {

// Stored state and routing depend on these values: they never change.
TEST(HashTest, IsTheSameInEveryVersion) {
  EXPECT_EQ(hash_bytes(""), 0x2D06800538D394C2ull);
  EXPECT_EQ(hash_bytes("freshet"), hash_bytes(std::string("fre") + "shet"));
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
}

TEST(HashTest, IsXxh3WhateverTheSize) {
  std::string bytes;
  for (int size = 0; size < 300; size++) {
    for (int variant = 0; variant < 4; variant++) {
      bytes.clear();
      for (int i = 0; i < size; i++)
        bytes += static_cast<char>((i + 1) * (size + 11) * (variant * 2 + 1) + variant);
      EXPECT_EQ(hash_bytes(bytes), XXH3_64bits(bytes.data(), bytes.size())) << size;
    }
  }
}

TEST(HashTest, IgnoresWhatIsBehindTheBytesOfWords) {
  const std::string text = "sixteen letters!and more";
  for (size_t size = 1; size <= 16; size++) {
    uint64_t words[2];
    std::memcpy(words, text.data(), sizeof(words));
    EXPECT_EQ(hash_words(words[0], words[1], size), hash_bytes(text.substr(0, size))) << size;
  }
}

TEST(HashTest, CombineDependsOnOrder) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
  EXPECT_NE(hash_combine(0, 0), hash_combine(0, 1));
}

}  // namespace
}  // namespace freshet
