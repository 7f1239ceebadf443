#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "runtime/operators/filter.h"
#include "runtime/operators/flat_map.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/map.h"
#include "runtime/testing/operator_verification.h"

namespace freshet {
namespace {

using testing::OperatorHarness;
using testing::verify_operator;

const std::vector<std::string> kWords = {"a", "", "to be or not",
                                         "a word of more than fifteen bytes"};

TEST(MapOperatorTest, GivesOneResultForEachRecordWithItsTimestamp) {
  const auto length = [](const std::string& text) { return static_cast<int64_t>(text.size()); };
  const auto factory = make_function_factory<MapOperator<std::string, decltype(length)>>(length);
  EXPECT_EQ((*verify_operator<std::string, int64_t>(*factory, kWords)),
            (std::vector<int64_t>{1, 0, 12, 33}));
  OperatorHarness<int64_t> harness(*factory);
  harness.process(kWords[0], 42);
  EXPECT_EQ(harness.take_entries().at(0).timestamp, 42);
}

TEST(MapOperatorTest, TakesAPointerToAMember) {
  using Pair = std::pair<std::string, int32_t>;
  const auto factory = make_function_factory<MapOperator<Pair, std::string Pair::*>>(&Pair::first);
  OperatorHarness<std::string> harness(*factory);
  harness.process(Pair("x", 1));
  EXPECT_EQ(harness.take_outputs(), std::vector<std::string>{"x"});
}

TEST(MapOperatorTest, GivesEachSubtaskItsOwnCopyOfTheFunction) {
  auto number = [next = int64_t{0}](const std::string&) mutable { return next++; };
  const auto factory = make_function_factory<MapOperator<std::string, decltype(number)>>(number);
  EXPECT_EQ((*verify_operator<std::string, int64_t>(*factory, kWords)),
            (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(MapOperatorTest, LetsWhatUserCodeThrowsPass) {
  const auto fail = [](const std::string&) -> int64_t { throw std::runtime_error("no"); };
  const auto factory = make_function_factory<MapOperator<std::string, decltype(fail)>>(fail);
  OperatorHarness<int64_t> harness(*factory);
  EXPECT_THROW(harness.process(kWords[0]), std::runtime_error);
}

TEST(FlatMapOperatorTest, GivesAnyNumberOfResultsInOrder) {
  const auto split = [](const std::string& text, Collector<std::string>& out) {
    std::string word;
    for (const char c : text + ' ') {
      if (c != ' ') word += c;
      if (c == ' ' && !word.empty()) out.collect(std::exchange(word, ""));
    }
  };
  const auto factory =
      make_function_factory<FlatMapOperator<std::string, std::string, decltype(split)>>(split);
  EXPECT_EQ((*verify_operator<std::string, std::string>(*factory, {"to be", "", " or "})),
            (std::vector<std::string>{"to", "be", "or"}));
}

TEST(FilterOperatorTest, PassesOnWhatIsWanted) {
  const auto odd = [](const int64_t& value) { return value % 2 != 0; };
  const auto factory = make_function_factory<FilterOperator<int64_t, decltype(odd)>>(odd);
  EXPECT_EQ((*verify_operator<int64_t, int64_t>(*factory, {1, 2, 3, -5, 0})),
            (std::vector<int64_t>{1, 3, -5}));
}

TEST(VerifyOperatorTest, SeesStateSharedBetweenSubtasks) {
  const auto shared = std::make_shared<int64_t>(0);
  const auto count = [shared](const std::string&) { return (*shared)++; };
  const auto factory = make_function_factory<MapOperator<std::string, decltype(count)>>(count);
  EXPECT_FALSE((verify_operator<std::string, int64_t>(*factory, kWords).ok()));
}

}  // namespace
}  // namespace freshet
