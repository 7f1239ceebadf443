#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/base/codec.h"
#include "runtime/base/random.h"

namespace freshet {

/// Random values of all types with a codec, with the boundaries more often than chance would have
/// it. Aggregates by their fields.
class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : random_(make_seeded_random(seed)) {}

  Random& random() { return *random_; }

  template <class T>
  T make() {
    T value{};
    fill(value);
    return value;
  }

  template <class T>
  requires std::is_integral_v<T>
  void fill(T& value) {
    const T special[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0)};
    value = random_->one_in(4) ? static_cast<T>(random_->next()) : special[random_->below(3)];
  }
  void fill(bool& value) { value = random_->one_in(2); }
  template <class T>
  requires std::is_floating_point_v<T>
  void fill(T& value) {
    const T special[] = {T(0), T(-1.5), std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()};
    value = random_->one_in(2) ? special[random_->below(5)] : static_cast<T>(random_->real());
  }
  template <class T>
  requires std::is_enum_v<T>
  void fill(T& value) { value = static_cast<T>(make<std::underlying_type_t<T>>()); }
  void fill(std::string& value) {
    const size_t sizes[] = {0, 1, 15, 16, 127, 128, 300};
    value.assign(sizes[random_->below(7)], '\0');
    for (char& c : value) c = static_cast<char>(random_->next());
  }
  void fill(std::monostate&) {}
  template <class Count, class Period>
  void fill(std::chrono::duration<Count, Period>& value) {
    value = std::chrono::duration<Count, Period>(make<Count>());
  }
  template <class Clock, class Duration>
  void fill(std::chrono::time_point<Clock, Duration>& value) {
    value = std::chrono::time_point<Clock, Duration>(make<Duration>());
  }
  template <class A, class B>
  void fill(std::pair<A, B>& value) {
    fill(value.first), fill(value.second);
  }
  template <class... Ts>
  void fill(std::tuple<Ts...>& value) {
    std::apply([&](auto&... one) { (fill(one), ...); }, value);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (random_->one_in(2)) fill(value.emplace());
  }
  template <class... Ts>
  void fill(std::variant<Ts...>& value) {
    fill_alternative(value, random_->below(sizeof...(Ts)), std::index_sequence_for<Ts...>());
  }
  template <class T, size_t N>
  void fill(std::array<T, N>& values) {
    for (T& one : values) fill(one);
  }
  template <class Values>
  requires requires(Values values) { values.clear(), values.end(); }
  void fill(Values& values) {
    values.clear();
    for (uint64_t i = random_->below(5); i > 0; i--) {
      if constexpr (requires { typename Values::mapped_type; }) {
        values.insert({make<typename Values::key_type>(), make<typename Values::mapped_type>()});
      } else {
        values.insert(values.end(), make<typename Values::value_type>());
      }
    }
  }
  template <class T>
  requires codec_detail::Aggregate<T>
  void fill(T& value) {
    boost::pfr::for_each_field(value, [&](auto& field) { fill(field); });
  }
  template <class T>
  requires requires(T value, RandomValues& values) { value.fill_from(values); }
  void fill(T& value) { value.fill_from(*this); }

 private:
  template <class Variant, size_t... I>
  void fill_alternative(Variant& value, uint64_t index, std::index_sequence<I...>) {
    ((I == index ? fill(value.template emplace<I>()) : void()), ...);
  }

  std::unique_ptr<Random> random_;
};

enum class Colour : uint8_t { kRed, kGreen };

struct Empty {
  auto operator<=>(const Empty&) const = default;
};

struct Inner {
  int32_t number = 0;
  std::string text;
  auto operator<=>(const Inner&) const = default;
};

struct Outer {
  Inner inner;
  std::vector<Inner> list;
  double real = 0;
  Colour colour = Colour::kRed;
  auto operator<=>(const Outer&) const = default;
};

/// Trivially copyable, no aggregate, with bytes between its members.
class Measure {
 public:
  Measure() = default;
  Measure(uint8_t unit, double amount) : unit_(unit), amount_(amount) {}
  auto operator<=>(const Measure&) const = default;
  void fill_from(RandomValues& values) { values.fill(unit_), values.fill(amount_); }

 private:
  uint8_t unit_ = 0;
  double amount_ = 0;
};

}  // namespace freshet
