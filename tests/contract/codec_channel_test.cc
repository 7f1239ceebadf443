#include <chrono>
#include <list>
#include <set>

#include "runtime/base/fields.h"
#include "runtime/proto/graph.pb.h"
#include "tests/contract/codec_course.h"

namespace freshet {

namespace proto {
/// A message has no equality of its own.
bool operator==(const BuildOptionsProto& a, const BuildOptionsProto& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}
}  // namespace proto

namespace {

struct Sensor {
  std::string name;
  std::vector<double> values;
  std::array<char, 4> unit{};
  auto operator<=>(const Sensor&) const = default;
};
FRESHET_FIELDS(Sensor, unit, values, name);

/// Keeps its fields to itself. All of one size: 3 bytes.
class Cell {
 public:
  auto operator<=>(const Cell&) const = default;
  void fill_from(RandomValues& values) { values.fill(row_), values.fill(column_); }
  FRESHET_FIELDS(Cell, row_, column_);

 private:
  int16_t row_ = 0;
  int8_t column_ = 0;
};

/// Has a codec of its own: each digit is a byte.
struct Digits {
  uint64_t number = 0;
  virtual ~Digits() = default;
  bool operator==(const Digits& other) const { return number == other.number; }
  void fill_from(RandomValues& values) { values.fill(number); }
};

enum class Direction : int32_t { kUp, kDown };

}  // namespace

template <>
struct Codec<Digits> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "digits"; }
  static void encode(const Digits& value, Encoder& encoder) {
    for (const char digit : std::to_string(value.number))
      encoder.write_byte(static_cast<uint8_t>(digit));
  }
  static void decode(Decoder& decoder, Digits& value) {
    value.number = 0;
    while (decoder.remaining() != 0)
      value.number = value.number * 10 + (decoder.read_fixed<uint8_t>() - '0');
  }
};

namespace {

template <class T>
T random_value(RandomValues& values) {
  return values.make<T>();
}
template <>
proto::BuildOptionsProto random_value(RandomValues& values) {
  proto::BuildOptionsProto message;
  for (uint64_t i = values.random().below(4); i > 0; i--) values.fill(*message.add_arguments());
  message.set_parallelism(static_cast<uint32_t>(values.random().below(1000)));  // 0: no bytes.
  return message;
}

template <class T>
class CodecChannelTest : public ::testing::Test {};

// Each codec at least once. Fixed sizes of 1, 3, 4, 8, 13, 14 and 16 bytes, so that records end
// everywhere in a block; and various, down to nothing at all.
using Types = ::testing::Types<
    bool, int64_t, double, long double, Colour, Direction, std::chrono::milliseconds,
    std::chrono::time_point<std::chrono::system_clock, std::chrono::duration<int32_t>>,
    std::tuple<int64_t, int32_t, bool>, std::array<std::pair<int32_t, int8_t>, 3>, Measure, Cell,
    std::string, std::monostate, std::optional<std::string>,
    std::variant<std::monostate, int64_t, std::string>, std::vector<std::optional<Inner>>,
    std::vector<bool>, std::deque<int32_t>, std::list<std::string>, std::set<int16_t>,
    std::multiset<std::string>, std::unordered_set<std::string>, std::unordered_multiset<int64_t>,
    std::map<std::string, std::chrono::nanoseconds>, std::multimap<bool, std::string>,
    std::unordered_map<std::string, int64_t>, std::unordered_multimap<int16_t, std::string>, Empty,
    Outer, Sensor, Digits, proto::BuildOptionsProto>;
TYPED_TEST_SUITE(CodecChannelTest, Types);

TYPED_TEST(CodecChannelTest, ValuesAreReadBackWhereverBlocksEnd) {
  for (const Course& one : courses()) {
    SCOPED_TRACE(name_of(one));
    CodecCourse<TypeParam> course(one);
    const int records = Codec<TypeParam>::kFixedSize == 0 ? 1500 : 8000;
    for (int i = 0; i < records; i++) course.send(random_value<TypeParam>(course.values()));
    course.finish();
    if (this->HasFatalFailure()) return;
  }
}

/// Text of `size` bytes that differs from that of other sizes and places.
std::string text_of(size_t size, uint64_t seed) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; i++) text[i] = static_cast<char>((seed + i * 31 + (i >> 8)) & 0xFF);
  return text;
}

/// A filler puts the next record at each place near the end of a block: it starts, has its header
/// cut, its payload cut, and ends there.
TEST(CodecChannelBoundaryTest, RecordsAreCutAtEachByteOfABlocksEnd) {
  for (const Course& one : courses()) {
    SCOPED_TRACE(name_of(one));
    for (const size_t block : {size_t{1024}, size_t{4096}, size_t{32768}}) {
      // Blocks hold their header too, so the end is looked for in a wide range before it.
      const size_t step = one.timestamps == 2 ? 3 : 1;
      CodecCourse<std::string> course(one);
      for (size_t filler = block - 140; filler < block + 20; filler += step) {
        course.send(text_of(filler, filler));
        for (const size_t size : {0u, 1u, 20u, 130u}) course.send(text_of(size, filler));
      }
      course.finish();
    }
    if (HasFatalFailure()) return;
  }
}

TEST(CodecChannelBoundaryTest, RecordsOfAnySizeAreReadBack) {
  for (const Course& one : courses()) {
    SCOPED_TRACE(name_of(one));
    CodecCourse<std::vector<std::string>> course(one);
    Random& random = course.values().random();
    for (int i = 0; i < 60; i++) {
      const uint64_t size_max = uint64_t{1} << random.below(i % 20 == 0 ? 22 : 17);
      std::vector<std::string> value;
      for (uint64_t part = 1 + random.below(3); part > 0; part--)
        value.push_back(text_of(random.below(size_max), random.next()));
      course.send(std::move(value));
    }
    course.send({text_of(3 << 20, 7)});
    course.send({});
    course.finish();
    if (HasFatalFailure()) return;
  }
}

/// The task fails then; its partition holds nothing any more once it is released.
TEST(CodecChannelFailureTest, ARecordWhoseEncodingFailedHoldsNoMemory) {
  for (const RigKind kind : {RigKind::kLocal, RigKind::kRemoteInProcess}) {
    for (const size_t size : {0u, 10u, 600u, 100'000u}) {
      ChannelRig rig(kind, {});
      auto partition = rig.partition(rig.partition_options(0, 1));
      auto gate = rig.gate(rig.gate_options(0, 1));
      write_record(*partition, 0, "before");
      EXPECT_THROW(partition->write(0, kNoTimestamp, 0,
                                    [&](Encoder& encoder) {
                                      const std::string part(size, 'x');
                                      encoder.write(part.data(), part.size());
                                      throw CodecError("on purpose");
                                    }),
                   CodecError);
      rig.run();
      partition->release();
      gate->release();
    }
  }
}

}  // namespace
}  // namespace freshet
