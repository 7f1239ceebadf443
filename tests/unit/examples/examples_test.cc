#include <gtest/gtest.h>

#include <stdexcept>

#include "examples/orders/orders.h"
#include "examples/wordcount/words.h"
#include "runtime/base/random.h"

namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  wordcount::for_each_word(line, word, [&] { words.push_back(word); });
  return words;
}

/// The same, character by character.
std::vector<std::string> model_words(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  for (char c : line) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter && !inside) words.emplace_back();
    if (letter) words.back().push_back(c);
    inside = letter;
  }
  return words;
}

TEST(WordsTest, SplitsAtEverythingThatIsNoLetterOrDigit) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of(" ,.;"), Words{});
  EXPECT_EQ(words_of("To be, or NOT to be2."), (Words{"to", "be", "or", "not", "to", "be2"}));
  EXPECT_EQ(words_of("na\xC3\xAFve_x"), (Words{"na", "ve", "x"}));
  EXPECT_EQ(words_of(std::string_view("a\0b\r", 4)), (Words{"a", "b"}));
}

TEST(WordsTest, AgreesWithTheModelOnAnyBytes) {
  const auto random = freshet::make_seeded_random(7);
  for (int i = 0; i < 2000; i++) {
    std::string line;
    for (uint64_t j = random->below(60); j > 0; j--)
      line.push_back(static_cast<char>(random->below(256)));
    ASSERT_EQ(words_of(line), model_words(line));
  }
}

TEST(OrdersTest, ParsesAndDescribes) {
  const auto order = orders::parse_order("4,1,cup,6,3.10");
  const auto customer = orders::parse_customer("1,Ada Lovelace,UK");
  EXPECT_EQ(orders::customer_id(order), orders::customer_id(customer));
  EXPECT_EQ(orders::describe(order, customer), "order 4: 6 x cup for Ada Lovelace (UK), 18.60");
}

TEST(OrdersTest, RefusesOtherLines) {
  for (const char* line :
       {"", "1,2,3", "x,1,cup,6,3.10", "4,1,cup,6,3", "4,1,cup,6,.10", "4,1,cup,,3.10"}) {
    EXPECT_THROW(orders::parse_order(line), std::invalid_argument) << line;
  }
  EXPECT_THROW(orders::parse_customer("1,Ada"), std::invalid_argument);
}

}  // namespace
