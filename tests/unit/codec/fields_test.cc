#include "runtime/base/fields.h"

#include <gtest/gtest.h>

#include <compare>

namespace {

struct WordCount {
  std::string word;
  uint64_t count = 0;
  auto operator<=>(const WordCount&) const = default;
};
FRESHET_FIELDS(WordCount, word, count);

struct OtherName {
  std::string term;
  uint64_t count = 0;
};
FRESHET_FIELDS(OtherName, term, count);

struct Swapped {
  std::string word;
  uint64_t count = 0;
};
FRESHET_FIELDS(Swapped, count, word);

struct Positional {
  std::string word;
  uint64_t count = 0;
};

/// Keeps its fields to itself, and one out of its codec.
class Account {
 public:
  Account() = default;
  Account(std::string owner, int32_t cents) : owner_(std::move(owner)), cents_(cents) {}
  virtual ~Account() = default;

  FRESHET_FIELDS(Account, owner_, cents_);

  const std::string& owner() const { return owner_; }
  int32_t cents() const { return cents_; }
  void cache(int value) { cached_ = value; }
  int cached() const { return cached_; }

 private:
  std::string owner_;
  int32_t cents_ = 0;
  int cached_ = 7;
};

/// Has the fields of its base, but none of its own: no codec, rather than that of a part of it.
class Derived : public Account {};

template <class T>
struct Range {
  T low{};
  T high{};
  auto operator<=>(const Range&) const = default;
  FRESHET_FIELDS(Range, low, high);
};

/// Its bytes could be copied; its fields are named instead.
class Point {
 public:
  Point() = default;
  Point(int16_t x, int16_t y) : x_(x), y_(y) {}
  auto operator<=>(const Point&) const = default;
  FRESHET_FIELDS(Point, x_, y_);

 private:
  int16_t x_ = 0;
  int16_t y_ = 0;
};

struct Named {
  std::array<char, 4> code{};
  char text[6] = {};
  std::string words[2];
  auto operator<=>(const Named&) const = default;
};
FRESHET_FIELDS(Named, code, text, words);

struct Base {
  int32_t a = 0;
};

/// An aggregate with a base.
struct Extended : Base {
  int32_t b = 0;
};
FRESHET_FIELDS(Extended, a, b);

namespace elsewhere {

struct Report {
  WordCount best;
  std::vector<WordCount> all;
  std::map<std::string, Range<int16_t>> ranges;
  std::optional<WordCount> last;
  auto operator<=>(const Report&) const = default;
};
FRESHET_FIELDS(Report, best, all, ranges, last);

}  // namespace elsewhere

struct Wide {
  uint8_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
  uint8_t m = 13, n = 14, o = 15, p = 16, q = 17, r = 18, s = 19, t = 20, u = 21, v = 22, w = 23;
};
FRESHET_FIELDS(Wide, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);

template <class T>
T round_trip(const T& value, T into = T()) {
  freshet::Encoder encoder;
  freshet::Codec<T>::encode(value, encoder);
  freshet::Decoder decoder(encoder.bytes());
  freshet::Codec<T>::decode(decoder, into);
  EXPECT_EQ(decoder.remaining(), 0u);
  return into;
}

TEST(FieldsTest, NamesStandInTheFingerprint) {
  EXPECT_EQ(freshet::fingerprint_of<WordCount>(), "struct{word:string,count:u64}");
  EXPECT_EQ(freshet::fingerprint_of<OtherName>(), "struct{term:string,count:u64}");
  EXPECT_EQ(freshet::fingerprint_of<Swapped>(), "struct{count:u64,word:string}");
  EXPECT_EQ(freshet::fingerprint_of<Positional>(), "struct{string,u64}");
  EXPECT_EQ(freshet::fingerprint_of<elsewhere::Report>(),
            "struct{best:struct{word:string,count:u64},all:list<struct{word:string,count:u64}>,"
            "ranges:map<string,struct{low:i16,high:i16}>,"
            "last:optional<struct{word:string,count:u64}>}");
}

TEST(FieldsTest, ValuesSurviveARoundTrip) {
  const WordCount value{"tea", 3};
  EXPECT_EQ(round_trip(value, WordCount{"old", 9}), value);
  const elsewhere::Report report{value, {value, {"", 0}}, {{"x", {-4, 5}}}, value};
  EXPECT_EQ(round_trip(report), report);
}

TEST(FieldsTest, BytesAreTheFieldsInTheOrderGiven) {
  freshet::Encoder expected;
  freshet::Codec<uint64_t>::encode(3, expected);
  freshet::Codec<std::string>::encode("tea", expected);
  freshet::Encoder encoder;
  freshet::Codec<Swapped>::encode({"tea", 3}, encoder);
  EXPECT_EQ(encoder.bytes(), expected.bytes());
}

TEST(FieldsTest, ClassesMayListPrivateFieldsAndLeaveSomeOut) {
  EXPECT_EQ(freshet::fingerprint_of<Account>(), "struct{owner_:string,cents_:i32}");
  Account account("Ada", 1999);
  account.cache(8);
  const Account copy = round_trip(account);
  EXPECT_EQ(copy.owner(), "Ada");
  EXPECT_EQ(copy.cents(), 1999);
  EXPECT_EQ(copy.cached(), 7);
  static_assert(!freshet::Encodable<Derived>);
}

TEST(FieldsTest, NamesComeBeforeBytes) {
  EXPECT_EQ(freshet::fingerprint_of<Point>(), "struct{x_:i16,y_:i16}");
  EXPECT_EQ(round_trip(Point(3, -4)), Point(3, -4));
}

TEST(FieldsTest, TakesArraysAndFieldsOfABase) {
  EXPECT_EQ(freshet::fingerprint_of<Named>(),
            "struct{code:array<i8,4>,text:array<i8,6>,words:array<string,2>}");
  const Named value{{'D', 'E', '0', '1'}, "hello", {"a", "bc"}};
  EXPECT_EQ(round_trip(value), value);
  Extended extended;
  extended.a = 1;
  extended.b = 2;
  EXPECT_EQ(freshet::fingerprint_of<Extended>(), "struct{a:i32,b:i32}");
  EXPECT_EQ(round_trip(extended).a, 1);
  EXPECT_EQ(round_trip(extended).b, 2);
}

TEST(FieldsTest, SizeIsFixedWhenThatOfEveryFieldIs) {
  static_assert(freshet::Codec<Range<int16_t>>::kFixedSize == 4);
  static_assert(freshet::Codec<Range<Range<double>>>::kFixedSize == 32);
  static_assert(freshet::Codec<Wide>::kFixedSize == 23);
  static_assert(freshet::Codec<Range<std::string>>::kFixedSize == 0);
  static_assert(freshet::Codec<WordCount>::kFixedSize == 0);
}

TEST(FieldsTest, TakesManyFields) {
  Wide value;
  value.a = 100;
  value.w = 101;
  const Wide copy = round_trip(value);
  EXPECT_EQ(copy.a, 100);
  EXPECT_EQ(copy.l, 12);
  EXPECT_EQ(copy.w, 101);
  EXPECT_TRUE(freshet::fingerprint_of<Wide>().ends_with("v:u8,w:u8}"));
}

}  // namespace
