#include "runtime/base/codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/base/random.h"

namespace freshet {
namespace {

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

/// Random values, with the boundaries more often than chance would have it.
class Values {
 public:
  explicit Values(uint64_t seed) : random_(make_seeded_random(seed)) {}

  template <class T>
  requires std::is_integral_v<T>
  void fill(T& value) {
    switch (random_->below(4)) {
      case 0:
        value = std::numeric_limits<T>::min();
        break;
      case 1:
        value = std::numeric_limits<T>::max();
        break;
      case 2:
        value = 0;
        break;
      default:
        value = static_cast<T>(random_->next());
    }
  }
  template <class T>
  requires std::is_floating_point_v<T>
  void fill(T& value) {
    const T special[] = {T(0), T(-1.5), std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()};
    value = random_->one_in(2) ? special[random_->below(5)] : static_cast<T>(random_->real());
  }
  void fill(Colour& value) { value = random_->one_in(2) ? Colour::kRed : Colour::kGreen; }
  void fill(std::string& value) {
    const size_t sizes[] = {0, 1, 15, 16, 127, 128, 300};
    value.assign(sizes[random_->below(7)], '\0');
    for (char& c : value) c = static_cast<char>(random_->next());
  }
  void fill(Empty&) {}
  void fill(Inner& value) { fill(value.number), fill(value.text); }
  void fill(Outer& value) {
    fill(value.inner), fill(value.list), fill(value.real), fill(value.colour);
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
  template <class A, class B>
  void fill(std::variant<A, B>& value) {
    random_->one_in(2) ? fill(value.template emplace<0>()) : fill(value.template emplace<1>());
  }
  template <class T>
  void fill(std::vector<T>& values) {
    values.clear();
    for (uint64_t i = random_->below(5); i > 0; i--) {
      T one{};
      fill(one);
      values.push_back(std::move(one));
    }
  }
  template <class T, size_t N>
  void fill(std::array<T, N>& values) {
    for (T& one : values) fill(one);
  }
  template <class Set>
  requires requires(Set set) { typename Set::key_type; }
  void fill(Set& values) {
    values.clear();
    for (uint64_t i = random_->below(5); i > 0; i--) {
      if constexpr (requires { typename Set::mapped_type; }) {
        std::pair<typename Set::key_type, typename Set::mapped_type> one;
        fill(one);
        values.insert(one);
      } else {
        typename Set::key_type one{};
        fill(one);
        values.insert(one);
      }
    }
  }

 private:
  std::unique_ptr<Random> random_;
};

template <class T>
class CodecTest : public ::testing::Test {};

using Types = ::testing::Types<
    bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double,
    Colour, std::string, std::pair<int32_t, std::string>, std::pair<int8_t, int64_t>, std::tuple<>,
    std::tuple<int32_t, std::string, bool>, std::optional<std::string>,
    std::variant<int64_t, std::string>, std::vector<std::string>, std::vector<bool>,
    std::array<int16_t, 3>, std::array<std::string, 2>, std::set<int32_t>,
    std::map<std::string, std::vector<int32_t>>, std::unordered_map<std::string, int64_t>,
    std::unordered_set<std::string>, Empty, Inner, Outer>;
TYPED_TEST_SUITE(CodecTest, Types);

TYPED_TEST(CodecTest, RoundTripsInMemoryOfAnySize) {
  Values values(1);
  TypeParam decoded{};  // Reused, as readers do: nothing of the old value may stay.
  for (int i = 0; i < 300; i++) {
    TypeParam value{};
    values.fill(value);
    Encoder plain;
    Codec<TypeParam>::encode(value, plain);
    const std::string bytes(plain.bytes());
    if (Codec<TypeParam>::kFixedSize != 0) {
      EXPECT_EQ(bytes.size(), Codec<TypeParam>::kFixedSize);
    }
    Encoder tight;
    char memory[64];
    for (size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{64}}) {
      tight.start(memory, memory + size);
      Codec<TypeParam>::encode(value, tight);
      EXPECT_EQ(tight.bytes(), bytes);
    }
    Decoder decoder(bytes);
    Codec<TypeParam>::decode(decoder, decoded);
    EXPECT_EQ(decoded, value);
    EXPECT_EQ(decoder.remaining(), 0u);
  }
}

TYPED_TEST(CodecTest, ThrowsOnEveryTruncation) {
  Values values(2);
  for (int i = 0; i < 30; i++) {
    TypeParam value{};
    values.fill(value);
    Encoder encoder;
    Codec<TypeParam>::encode(value, encoder);
    const std::string bytes(encoder.bytes());
    for (size_t size = 0; size < bytes.size(); size++) {
      const std::string shorter = bytes.substr(0, size);
      Decoder decoder(shorter);
      TypeParam decoded{};
      EXPECT_THROW(Codec<TypeParam>::decode(decoder, decoded), CodecError);
    }
  }
}

TYPED_TEST(CodecTest, SurvivesRandomBytes) {
  const auto random = make_seeded_random(3);
  for (int i = 0; i < 3000; i++) {
    std::string bytes(random->below(24), '\0');
    for (char& c : bytes)
      c = static_cast<char>(random->one_in(3) ? random->below(4) : random->next());
    Decoder decoder(bytes);
    TypeParam decoded{};
    try {
      Codec<TypeParam>::decode(decoder, decoded);
    } catch (const CodecError&) {
    }
  }
}

TEST(CodecFingerprintTest, NamesEveryFormatDifferently) {
  EXPECT_EQ(Codec<int64_t>::fingerprint(), "i64");
  EXPECT_EQ((Codec<std::map<std::string, int64_t>>::fingerprint()), "map<string,i64>");
  EXPECT_EQ(Codec<Outer>::fingerprint(),
            "struct{struct{i32,string},list<struct{i32,string}>,f64,enum:u8}");
  EXPECT_NE(Codec<std::vector<int32_t>>::fingerprint(), Codec<std::set<int32_t>>::fingerprint());
}

TEST(CodecContainerTest, EncodesHashContainersInTheSameOrderWhateverTheirHistory) {
  std::unordered_map<std::string, int64_t> one, other;
  for (int i = 0; i < 100; i++) one[std::to_string(i)] = i;
  other.reserve(5000);
  for (int i = 99; i >= 0; i--) other[std::to_string(i)] = i;
  Encoder a, b;
  Codec<decltype(one)>::encode(one, a);
  Codec<decltype(other)>::encode(other, b);
  EXPECT_EQ(a.bytes(), b.bytes());
}

TEST(CodecContainerTest, DoesNotBelieveALengthOfRecordsWithoutBytes) {
  // 2^40 empty records: no bytes are missing, yet no honest sender means it.
  Encoder encoder;
  encoder.write_varint(uint64_t{1} << 40);
  Decoder decoder(encoder.bytes());
  std::vector<Empty> values;
  EXPECT_THROW(Codec<std::vector<Empty>>::decode(decoder, values), CodecError);
}

}  // namespace
}  // namespace freshet
