#include "runtime/base/key_hash.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

namespace freshet {
namespace {

template <class K>
void expect_hash_of_encoding(const K& key) {
  Encoder encoder;
  Codec<K>::encode(key, encoder);
  Encoder scratch;
  EXPECT_EQ(hash_key_value(key, scratch), hash_key(encoder.bytes()));
  EXPECT_EQ(hash_key_value(key, scratch), hash_key(encoder.bytes()));  // Scratch is as good as new.
}

TEST(KeyHashTest, IsTheHashOfTheEncodedKey) {
  std::string text;
  for (size_t size = 0; size < 300; size++) {
    text.resize(size);
    for (size_t i = 0; i < size; i++) text[i] = static_cast<char>(i * 37 + size);
    expect_hash_of_encoding(text);
  }
  expect_hash_of_encoding(int64_t{-5});
  expect_hash_of_encoding(uint16_t{7});
  expect_hash_of_encoding(true);
  expect_hash_of_encoding('c');
  expect_hash_of_encoding(-0.0);
  expect_hash_of_encoding(1.5L);
  expect_hash_of_encoding(std::numeric_limits<float>::infinity());
  expect_hash_of_encoding(std::pair(std::string("pair"), 4));
  expect_hash_of_encoding(std::pair(std::string(500, 'p'), 4));
}

}  // namespace
}  // namespace freshet
