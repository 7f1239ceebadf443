#include "state/heap_bytes.h"

#include <gtest/gtest.h>

#include <map>

namespace freshet {
namespace {

struct Inner {
  std::string text;
  int64_t number = 0;
};
struct Outer {
  Inner inner;
  std::vector<Inner> list;
};

TEST(HeapBytesTest, WhatHasNoMemoryOfItsOwnHasNone) {
  EXPECT_EQ(heap_bytes(7), 0u);
  EXPECT_EQ(heap_bytes(std::pair<int, double>(1, 2)), 0u);
  EXPECT_EQ(heap_bytes(std::string("short")), 0u);
  EXPECT_EQ(heap_bytes(std::vector<int>()), 0u);
  EXPECT_EQ(heap_bytes(Outer()), 0u);
}

TEST(HeapBytesTest, CountsWhatIsElsewhere) {
  const std::string text(1000, 'x');
  EXPECT_GE(heap_bytes(text), 1000u);
  EXPECT_LE(heap_bytes(text), 1100u);
  EXPECT_GE(heap_bytes(std::vector<int64_t>(100)), 800u);
  Outer outer{{text, 1}, {{text, 2}, {text, 3}}};
  EXPECT_GE(heap_bytes(outer), 3000u + 2 * sizeof(Inner));
  EXPECT_GE(heap_bytes(std::map<std::string, int>{{text, 1}}), 1000u);
}

}  // namespace
}  // namespace freshet
