#include "runtime/operators/sum.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/testing/operator_verification.h"

namespace freshet {
namespace {

using testing::verify_operator;

struct Sale {
  std::string shop;
  int32_t product = 0;
  int32_t amount = 0;
  double price = 0;
  bool operator==(const Sale&) const = default;
};

template <class K, class F>
std::shared_ptr<const KeySelector<K, Sale>> by(F function) {
  return std::make_shared<FunctionKeySelector<K, Sale, F>>(std::move(function));
}

std::vector<Sale> random_sales() {
  const auto random = make_seeded_random(3);
  std::vector<Sale> sales;
  for (int i = 0; i < 5'000; i++) {
    sales.push_back({std::string(random->below(40), static_cast<char>('a' + random->below(10))),
                     static_cast<int32_t>(random->below(300)),
                     static_cast<int32_t>(random->below(100)) - 50, 0.5});
  }
  return sales;
}

template <class K, class Field>
void compare_with_model(std::shared_ptr<const KeySelector<K, Sale>> selector, Field field) {
  const std::vector<Sale> sales = random_sales();
  std::map<K, Sale> sums;
  std::vector<Sale> expected;
  for (const Sale& sale : sales) {
    K scratch{};
    const auto [sum, inserted] = sums.emplace(selector->key(sale, scratch), sale);
    if (!inserted) std::invoke(field, sum->second) += std::invoke(field, sale);
    expected.push_back(sum->second);
  }
  EXPECT_EQ(
      (*verify_operator<Sale, Sale>(*make_sum_factory(selector, field, Emit::updates), sales)),
      expected);
  const auto last =
      verify_operator<Sale, Sale>(*make_sum_factory(selector, field, Emit::final), sales);
  ASSERT_EQ(last->size(), sums.size());
  for (const Sale& sum : *last) {
    K scratch{};
    EXPECT_EQ(sums.at(selector->key(sum, scratch)), sum);
  }
}

TEST(SumTest, AddsWhateverTheKeyAndTheFieldAre) {
  compare_with_model(by<std::string>(&Sale::shop), &Sale::amount);
  compare_with_model(by<std::string>(&Sale::shop), &Sale::price);
  compare_with_model(by<int32_t>(&Sale::product), &Sale::amount);
  compare_with_model(by<std::string>([](const Sale& sale) { return sale.shop + "!"; }),
                     &Sale::amount);
  compare_with_model(
      by<std::string>(&Sale::shop), [](auto& sale) -> auto& { return sale.amount; });
}

TEST(SumTest, KeepsTheKeyOnceWhenItIsAnotherField) {
  const auto shop = by<std::string>(&Sale::shop);
  const auto product = by<int32_t>(&Sale::product);
  const auto function = by<int32_t>([](const Sale& sale) { return sale.product; });
  EXPECT_EQ(sum_detail::kept_key_field(*shop, &Sale::amount), &Sale::shop);
  EXPECT_EQ(sum_detail::kept_key_field(*product, &Sale::amount), &Sale::product);
  EXPECT_EQ(sum_detail::kept_key_field(*product, &Sale::product), nullptr);
  EXPECT_EQ(sum_detail::kept_key_field(*function, &Sale::amount), nullptr);
  const auto price = by<double>(&Sale::price);  // Not told apart by equality.
  EXPECT_EQ(sum_detail::kept_key_field(*price, &Sale::amount), nullptr);
}

TEST(SumTest, AddsUpTheFieldThatIsTheKey) {
  const auto selector = by<int32_t>(&Sale::product);
  const auto sums =
      verify_operator<Sale, Sale>(*make_sum_factory(selector, &Sale::product, Emit::updates),
                                  {{"", 1}, {"", 2}, {"", 1}, {"", 1}, {"", 2}});
  std::vector<int32_t> products;
  for (const Sale& sum : *sums) products.push_back(sum.product);
  EXPECT_EQ(products, (std::vector<int32_t>{1, 2, 2, 3, 4}));
}

}  // namespace
}  // namespace freshet
