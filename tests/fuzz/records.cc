#include <chrono>

#include "runtime/base/check.h"
#include "runtime/base/codec.h"
#include "runtime/base/container_codec.h"
#include "runtime/base/fields.h"
#include "runtime/operators/source.h"
#include "runtime/operators/split_edges.h"
#include "runtime/operators/typed_edge.h"
#include "runtime/proto/graph.pb.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/codec/random_values.h"

namespace freshet::fuzz {

namespace {

struct Named {
  int32_t number = 0;
  std::optional<std::string> text;
  FRESHET_FIELDS(Named, number, text);
};

template <class T>
std::string encoded(const T& value) {
  Encoder encoder;
  Codec<T>::encode(value, encoder);
  return std::string(encoder.bytes());
}

template <class T>
void decode(std::string_view bytes, T& value) {
  Decoder decoder(bytes);
  Codec<T>::decode(decoder, value);
  CHECK(decoder.remaining() <= bytes.size());
}

/// What was decoded is, encoded again, decoded to the same.
template <class T>
void check_value(std::string_view bytes) {
  T value{};
  try {
    decode(bytes, value);
  } catch (const CodecError& error) {
    CHECK(error.what()[0] != '\0');
    return;
  }
  const std::string once = encoded(value);
  CHECK(Codec<T>::kFixedSize == 0 || once.size() == Codec<T>::kFixedSize);
  T used = value;  // What was in it before makes no difference.
  decode(once, used);
  CHECK(encoded(used) == once);
  T fresh{};
  decode(once, fresh);
  CHECK(encoded(fresh) == once);
}

class Counter final : public RecordReceiver {
 public:
  void receive(const void*, EpochMillis) override { ++records; }
  uint32_t records = 0;
};

/// Records back to back in a buffer, as an edge reads them.
void check_run(const EdgeType& edge, std::string_view bytes, bool timestamps) {
  const bool stop = false;
  RecordRun run({edge.fixed_size(), timestamps}, bytes, 1000, &stop);
  Counter counter;
  const auto reader = edge.make_reader();
  try {
    reader->read_run(run, counter);
    CHECK(counter.records == run.records());
  } catch (const CodecError&) {
  }
  CHECK(run.bytes() <= bytes.size());
  try {
    reader->read(bytes, kNoTimestamp, counter);
  } catch (const CodecError&) {
  }
}

template <class T>
void check_edge(std::string_view bytes) {
  check_run(TypedEdge<T>(), bytes, false);
  check_run(TypedEdge<T>(), bytes, true);
}

using Check = void (*)(std::string_view);

template <class... Ts>
std::vector<Check> checks_of() {
  return {check_value<Ts>...};
}

const std::vector<Check>& checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> checks = checks_of<
        bool, uint8_t, int64_t, double, long double, Colour, std::string, std::chrono::nanoseconds,
        std::chrono::system_clock::time_point, std::pair<int32_t, std::string>,
        std::tuple<int32_t, std::string, bool>, std::optional<std::optional<bool>>,
        std::variant<std::monostate, std::variant<bool, Inner>, std::optional<int8_t>>,
        std::vector<std::string>, std::vector<bool>, std::vector<double>, std::vector<Empty>,
        std::vector<std::vector<Inner>>, std::deque<bool>, std::list<std::string>,
        std::array<std::string, 2>, std::array<int16_t, 3>, std::set<std::string>,
        std::multiset<int8_t>, std::map<std::string, std::vector<int32_t>>,
        std::multimap<bool, std::string>, std::unordered_map<std::string, int64_t>,
        std::unordered_multimap<int8_t, bool>, std::unordered_set<std::string>,
        std::unordered_multiset<uint16_t>, Outer, Measure, Named, std::vector<Measure>,
        proto::JobGraphProto, Split, SplitRequest>();
    checks.push_back(check_edge<int64_t>);
    checks.push_back(check_edge<std::string>);
    checks.push_back(check_edge<std::pair<std::string, int64_t>>);
    checks.push_back([](std::string_view bytes) { check_run(*make_split_edge(), bytes, false); });
    checks.push_back(
        [](std::string_view bytes) { check_run(*make_split_request_edge(), bytes, false); });
    return checks;
  }();
  return all;
}

}  // namespace

/// input := number of a type, its bytes.
void records(std::string_view bytes) {
  Input input(bytes);
  const uint8_t type = input.byte();
  // A copy without a byte more, so that AddressSanitizer sees one that is read too far.
  const std::vector<char> tight(input.rest().begin(), input.rest().end());
  checks()[type % checks().size()]({tight.data(), tight.size()});
}

Seeds records_seeds() {
  RandomValues values(1);
  std::string all = encoded(values.make<std::string>()).substr(0, 40);
  Seeds seeds;
  const std::string bytes[] = {
      encoded(values.make<Outer>()), encoded(std::vector<std::string>{"a", "", "bc"}),
      encoded(std::map<std::string, std::vector<int32_t>>{{"a", {1, 2}}, {"b", {}}}),
      std::string("\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)};
  for (size_t type = 0; type < checks().size(); ++type)
    seeds.push_back(std::string(1, static_cast<char>(type)) + bytes[type % 4]);
  return seeds;
}

}  // namespace freshet::fuzz
