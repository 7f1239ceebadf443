#include "state/heap_keyed_state.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/base/random.h"

namespace freshet {
namespace {

TEST(HeapKeyedStateTest, KeepsOneValuePerKeyAndState) {
  HeapKeyedState<std::string> state;
  ValueState<int64_t> count = state.value<int64_t>("count");
  ValueState<std::string> last = state.value<std::string>("last");
  state.set_key("a");
  EXPECT_FALSE(count.has_value());
  EXPECT_EQ(count.value_or(5), 5);
  count.update(1);
  state.set_key("b");
  EXPECT_FALSE(count.has_value());
  last.update("x");
  state.set_key("a");
  EXPECT_EQ(*count.get(), 1);
  EXPECT_FALSE(last.has_value());
  EXPECT_EQ(state.size(), 2u);
}

TEST(HeapKeyedStateTest, ForgetsAKeyWhoseValuesAreAllCleared) {
  HeapKeyedState<int32_t> state;
  ValueState<int64_t> a = state.value<int64_t>("a");
  ValueState<int64_t> b = state.value<int64_t>("b");
  state.set_key(1);
  a.update(10);
  b.update(20);
  a.clear();
  a.clear();
  EXPECT_EQ(state.size(), 1u);
  b.clear();
  EXPECT_EQ(state.size(), 0u);
  state.set_key(2);  // Takes the row over: nothing of the old key may be seen.
  EXPECT_FALSE(a.has_value());
  a.update(11);
  EXPECT_FALSE(b.has_value());
  state.set_key(1);
  EXPECT_FALSE(a.has_value());
}

TEST(HeapKeyedStateTest, GivesTheSameStateForTheSameNameAndRefusesAnotherType) {
  HeapKeyedState<int32_t> state;
  state.set_key(1);
  state.value<int64_t>("n").update(3);
  EXPECT_EQ(*state.value<int64_t>("n").get(), 3);
  EXPECT_THROW(state.value<std::string>("n"), std::invalid_argument);
}

TEST(HeapKeyedStateTest, BehavesAsAMapOfMaps) {
  const auto random = make_seeded_random(5);
  HeapKeyedState<int64_t> state;
  ValueState<int64_t> states[] = {state.value<int64_t>("a"), state.value<int64_t>("b")};
  std::map<int64_t, std::map<int, int64_t>> model;
  for (int i = 0; i < 50'000; i++) {
    const auto key = static_cast<int64_t>(random->below(60));
    const int which = static_cast<int>(random->below(2));
    state.set_key(key);
    if (random->one_in(2)) {
      states[which].update(i);
      model[key][which] = i;
    } else {
      states[which].clear();
      if (model.contains(key)) {
        model[key].erase(which);
        if (model[key].empty()) model.erase(key);
      }
    }
    ASSERT_EQ(state.size(), model.size());
    for (int k = 0; k < 2; k++) {
      const bool has = model.contains(key) && model[key].contains(k);
      ASSERT_EQ(states[k].has_value(), has);
      if (has) {
        ASSERT_EQ(*states[k].get(), model[key][k]);
      }
    }
  }
}

}  // namespace
}  // namespace freshet
