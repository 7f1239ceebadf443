#include "runtime/base/codec.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/proto/graph.pb.h"
#include "tests/unit/codec/random_values.h"

namespace freshet {
namespace {

template <class T>
std::string encoded(const T& value) {
  Encoder encoder;
  Codec<T>::encode(value, encoder);
  return std::string(encoder.bytes());
}

/// From a copy without a byte more, so that AddressSanitizer sees one that is read too far.
template <class T>
T decoded(std::string_view bytes) {
  const std::vector<char> tight(bytes.begin(), bytes.end());
  Decoder decoder({tight.data(), tight.size()});
  T value{};
  Codec<T>::decode(decoder, value);
  if (decoder.remaining() != 0) throw CodecError("bytes are left over");
  return value;
}

template <class T>
class CodecTest : public ::testing::Test {};

using Types = ::testing::Types<
    bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double,
    long double, char16_t, Colour, std::string, std::chrono::nanoseconds,
    std::chrono::duration<double, std::ratio<3600>>, std::chrono::system_clock::time_point,
    std::pair<int32_t, std::string>, std::pair<int8_t, int64_t>, std::tuple<>,
    std::tuple<int32_t, std::string, bool>, std::optional<std::string>,
    std::optional<std::optional<bool>>, std::optional<std::variant<std::monostate, int32_t>>,
    std::variant<int64_t, std::string>,
    std::variant<std::monostate, std::variant<bool, Inner>, std::optional<int8_t>>,
    std::vector<std::string>, std::vector<bool>, std::vector<std::byte>, std::vector<double>,
    std::vector<std::vector<Inner>>, std::vector<Empty>, std::vector<std::vector<std::monostate>>,
    std::deque<int16_t>, std::deque<bool>, std::list<std::string>, std::array<int16_t, 3>,
    std::array<std::string, 2>, std::array<std::array<bool, 2>, 2>, std::array<int32_t, 0>,
    std::set<int32_t>, std::set<std::string, std::greater<>>, std::multiset<int8_t>,
    std::map<std::string, std::vector<int32_t>>, std::map<Empty, Empty>,
    std::multimap<bool, std::string>, std::unordered_map<std::string, int64_t>,
    std::unordered_multimap<int8_t, bool>, std::unordered_set<std::string>,
    std::unordered_multiset<uint16_t>, Empty, Inner, Outer, Measure, std::vector<Measure>>;
TYPED_TEST_SUITE(CodecTest, Types);

TYPED_TEST(CodecTest, RoundTripsInMemoryOfAnySize) {
  RandomValues values(1);
  TypeParam decoded{};  // Reused, as readers do: nothing of the old value may stay.
  for (int i = 0; i < 300; i++) {
    const auto value = values.make<TypeParam>();
    const std::string bytes = encoded(value);
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
  RandomValues values(2);
  for (int i = 0; i < 30; i++) {
    const std::string bytes = encoded(values.make<TypeParam>());
    for (size_t size = 0; size < bytes.size(); size++)
      EXPECT_THROW(decoded<TypeParam>(bytes.substr(0, size)), CodecError);
  }
}

/// Bytes that are no encoding give an error, or a value that has an encoding.
template <class T>
void decode_anything(std::string_view bytes) {
  try {
    const T value = decoded<T>(bytes);
    (void)decoded<T>(encoded(value));
  } catch (const CodecError&) {
  }
}

TYPED_TEST(CodecTest, SurvivesRandomBytes) {
  const auto random = make_seeded_random(3);
  for (int i = 0; i < 3000; i++) {
    std::string bytes(random->below(24), '\0');
    for (char& c : bytes)
      c = static_cast<char>(random->one_in(3) ? random->below(4) : random->next());
    decode_anything<TypeParam>(bytes);
  }
}

TYPED_TEST(CodecTest, SurvivesCorruption) {
  RandomValues values(4);
  Random& random = values.random();
  for (int i = 0; i < 1000; i++) {
    std::string bytes = encoded(values.make<TypeParam>());
    for (uint64_t change = random.below(3); change > 0 && !bytes.empty(); change--) {
      const size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
          break;
        case 1:
          bytes[at] = static_cast<char>(random.one_in(2) ? 0xFF : random.next());
          break;
        case 2:
          bytes.erase(at, 1 + random.below(4));
          break;
        default:
          bytes.insert(at, std::string(1 + random.below(9), '\x80'));
      }
    }
    decode_anything<TypeParam>(bytes);
  }
}

TEST(CodecFingerprintTest, IsStable) {
  const std::map<std::string, std::string> expected = {
      {fingerprint_of<bool>(), "bool"},
      {fingerprint_of<long double>(), "f128"},
      {fingerprint_of<char16_t>(), "u16"},
      {fingerprint_of<std::chrono::milliseconds>(), "duration<i64,1/1000>"},
      {fingerprint_of<std::chrono::system_clock::time_point>(),
       "time_point<duration<i64,1/1000000000>>"},
      {fingerprint_of<std::variant<std::monostate, std::optional<std::optional<bool>>>>(),
       "variant<nothing,optional<optional<bool>>>"},
      {fingerprint_of<std::tuple<std::deque<int8_t>, std::list<std::byte>>>(),
       "tuple<list<i8>,list<enum:u8>>"},
      {fingerprint_of<std::unordered_multimap<std::string, std::array<int8_t, 2>>>(),
       "multimap<string,array<i8,2>>"},
      {fingerprint_of<std::unordered_set<std::string>>(), "set<string>"},
      {fingerprint_of<std::multiset<std::pair<float, Empty>>>(), "multiset<pair<f32,struct{}>>"},
      {fingerprint_of<Measure>(), "bytes<freshet::Measure,16>"},
  };
  EXPECT_EQ(expected.size(), 11u);
  for (const auto& [got, want] : expected) EXPECT_EQ(got, want);
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

template <class T>
std::string why_not(const std::string& bytes) {
  try {
    (void)decoded<T>(bytes);
  } catch (const CodecError& error) {
    return error.what();
  }
  return "";
}

/// A number of entries, with few bytes behind it.
std::string size_and(uint64_t size, std::string_view bytes) {
  Encoder encoder;
  encoder.write_varint(size);
  encoder.write(bytes.data(), bytes.size());
  return std::string(encoder.bytes());
}

template <class T>
class CodecSizeTest : public ::testing::Test {};
using Containers =
    ::testing::Types<std::string, std::vector<int64_t>, std::vector<std::string>, std::vector<bool>,
                     std::vector<Empty>, std::vector<std::vector<Empty>>, std::deque<int32_t>,
                     std::list<Empty>, std::set<int32_t>, std::multiset<Empty>,
                     std::map<Empty, Empty>, std::unordered_map<int32_t, std::string>,
                     std::unordered_multiset<int32_t>, std::vector<std::array<int64_t, 100>>>;
TYPED_TEST_SUITE(CodecSizeTest, Containers);

TYPED_TEST(CodecSizeTest, DoesNotBelieveASizeThatItsBytesCannotHold) {
  for (const uint64_t size : {11ull, 1ull << 20, 1ull << 40, 1ull << 60, ~0ull})
    EXPECT_THROW(decoded<TypeParam>(size_and(size, "0123456789")), CodecError);
}

TEST(CodecContainerTest, NamesASizeThatItsBytesCannotHold) {
  EXPECT_EQ(why_not<std::vector<int64_t>>(size_and(2, "0123456789")),
            "a container names 2 entries, more than fit into 10 bytes");
}

TEST(CodecContainerTest, EntriesWithoutBytesTakeOne) {
  EXPECT_EQ(encoded(std::vector<Empty>(3)), std::string("\3\0\0\0", 4));
  EXPECT_EQ(decoded<std::vector<Empty>>(std::string("\3\0\0\0", 4)).size(), 3u);
  EXPECT_NE(why_not<std::vector<Empty>>("\1\1"), "");
}

TEST(CodecContainerTest, RefusesKeysThatAreThereTwice) {
  EXPECT_EQ(why_not<std::set<uint8_t>>("\2\5\5"), "a set has a value twice");
  EXPECT_EQ((why_not<std::unordered_map<uint8_t, uint8_t>>("\2\5\1\5\2")), "a map has a key twice");
  EXPECT_EQ(decoded<std::multiset<uint8_t>>("\2\5\5").size(), 2u);
}

TEST(CodecContainerTest, KeepsEqualEntriesOfHashContainers) {
  const std::unordered_multiset<int8_t> value = {5, 5, 7, 5};
  EXPECT_EQ(encoded(value), "\4\5\5\5\7");
  EXPECT_EQ(decoded<std::unordered_multiset<int8_t>>(encoded(value)), value);
}

TEST(CodecTest, RefusesBytesThatAreNeitherYesNorNo) {
  EXPECT_EQ(why_not<bool>("\2"), "a byte that says yes or no is 2, not 0 or 1");
  EXPECT_NE(why_not<std::optional<int8_t>>("\2\1"), "");
  EXPECT_NE(why_not<std::vector<bool>>("\1\3"), "");
  enum class Switch : bool { kOff, kOn };
  EXPECT_NE(why_not<Switch>("\2"), "");
}

TEST(CodecTest, RefusesAlternativesThatDoNotExist) {
  using Choice = std::variant<std::monostate, int8_t>;
  EXPECT_EQ(why_not<Choice>("\2\1"), "a variant names alternative 2 of 2");
  EXPECT_NE(why_not<Choice>("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), "");
}

TEST(CodecTest, RefusesToEncodeAVariantWithoutValue) {
  std::variant<int8_t, std::deque<int8_t>> value;
  EXPECT_THROW(value.emplace<1>(SIZE_MAX), std::length_error);
  ASSERT_TRUE(value.valueless_by_exception());
  EXPECT_THROW(encoded(value), CodecError);
}

TEST(CodecTest, BytesBetweenMembersAreAFunctionOfTheValue) {
  alignas(Measure) char one[sizeof(Measure)], other[sizeof(Measure)];
  std::memset(one, 0x11, sizeof(one));
  std::memset(other, 0xEE, sizeof(other));
  EXPECT_EQ(encoded(*new (one) Measure(3, 1.5)), encoded(*new (other) Measure(3, 1.5)));
}

TEST(CodecTest, ViewsAndIteratorsHaveNone) {
  static_assert(!Encodable<std::string_view>);
  static_assert(!Encodable<std::vector<int>::iterator>);
  static_assert(!Encodable<std::reference_wrapper<int>>);
  static_assert(!Encodable<int*>);
}

/// Without an end: its fingerprint would have none either.
struct Tree {
  int32_t value = 0;
  std::vector<Tree> children;
};

TEST(CodecTest, TypesThatContainThemselvesAreRefusedByName) {
  try {
    (void)fingerprint_of<Tree>();
    FAIL();
  } catch (const CodecError& error) {
    EXPECT_NE(std::string(error.what()).find("Tree contains itself"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(fingerprint_of<Inner>(), "struct{i32,string}");  // The failure left nothing behind.
}

proto::BuildOptionsProto random_message(RandomValues& values) {
  proto::BuildOptionsProto message;
  for (uint64_t i = values.random().below(4); i > 0; i--) values.fill(*message.add_arguments());
  message.set_parallelism(1 + static_cast<uint32_t>(values.random().below(1000)));
  return message;
}

TEST(CodecProtobufTest, MessagesRoundTripAndRefuseOtherBytes) {
  using Message = proto::BuildOptionsProto;
  RandomValues values(5);
  EXPECT_EQ(fingerprint_of<Message>(), "protobuf:freshet.proto.BuildOptionsProto");
  for (int i = 0; i < 300; i++) {
    const Message message = random_message(values);
    const std::string bytes = encoded(message);
    EXPECT_EQ(decoded<Message>(bytes).SerializeAsString(), message.SerializeAsString());
    for (size_t size = 0; size < bytes.size(); size++)
      EXPECT_THROW(decoded<Message>(bytes.substr(0, size)), CodecError);
    std::string changed = bytes;
    changed[values.random().below(changed.size())] ^= static_cast<char>(values.random().next());
    decode_anything<Message>(changed);
  }
  EXPECT_EQ(why_not<Message>(size_and(2, "\xff\xff")),
            "bytes are no protobuf:freshet.proto.BuildOptionsProto");
  EXPECT_EQ(decoded<std::vector<Message>>(encoded(std::vector<Message>(2))).size(), 2u);
}

}  // namespace
}  // namespace freshet
