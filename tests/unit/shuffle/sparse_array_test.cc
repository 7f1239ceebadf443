#include "shuffle/sparse_array.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace freshet {
namespace {

struct alignas(64) Counted {
  Counted(uint32_t number, int* alive) : number(number), alive(alive) { ++*alive; }
  ~Counted() { --*alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  uint32_t number;
  int* alive;
};

TEST(SparseArrayTest, ObjectsStayWhereTheyAreAndGoTogether) {
  int alive = 0;
  {
    SparseArray<Counted> array(1'000);
    for (int round = 0; round < 2; ++round) {
      std::map<uint32_t, Counted*> made;
      for (uint32_t i = 0; i < 300; ++i) {
        const uint32_t index = i * 7 % 1'000;
        EXPECT_EQ(array.find(index), nullptr);
        made[index] = &array.create(index, index, &alive);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(made[index]) % alignof(Counted), 0u);
      }
      EXPECT_EQ(alive, 300);
      for (const auto& [index, object] : made) EXPECT_EQ(array.find(index), object);
      auto next = made.begin();
      array.for_each([&](uint32_t index, const Counted& object) {
        EXPECT_EQ(index, next->first);
        EXPECT_EQ(object.number, index);
        ++next;
      });
      EXPECT_EQ(next, made.end());
      if (round == 0) array.clear();
      EXPECT_EQ(alive, round == 0 ? 0 : 300);
    }
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace freshet
