#pragma once

#include <boost/pfr.hpp>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "runtime/base/container_codec.h"
#include "runtime/base/encodable.h"

namespace freshet {

namespace codec_detail {

/// As in the source, with its namespaces.
std::string type_name(const std::type_info& type);

/// Throws for a type that contains itself, whose fingerprint would have no end.
class FingerprintDepth {
 public:
  explicit FingerprintDepth(const std::type_info& type);
  ~FingerprintDepth();
  FingerprintDepth(const FingerprintDepth&) = delete;
  FingerprintDepth& operator=(const FingerprintDepth&) = delete;
};

[[noreturn]] void fail_flag(uint8_t byte);

/// A byte that is 0 or 1.
inline bool read_flag(Decoder& decoder) {
  const auto byte = decoder.read_fixed<uint8_t>();
  if (byte > 1) [[unlikely]]
    fail_flag(byte);
  return byte == 1;
}

[[noreturn]] void fail_alternative(uint64_t index, size_t alternatives);

template <class T>
std::string arithmetic_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  const std::string bits = std::to_string(sizeof(T) * 8);
  if constexpr (std::is_floating_point_v<T>) return "f" + bits;
  return (std::is_signed_v<T> ? "i" : "u") + bits;
}

/// A protobuf message, full or lite, without naming protobuf.
template <class T>
concept Message = requires(const T& in, T& out, std::string* text, std::string name) {
  { in.SerializeToString(text) } -> std::convertible_to<bool>;
  { out.ParseFromArray(name.data(), 0) } -> std::convertible_to<bool>;
  { in.GetTypeName() } -> std::convertible_to<std::string>;
};

template <class T>
concept Aggregate =
    std::is_aggregate_v<T> && !std::is_array_v<T> && std::is_class_v<T> && !Message<T>;

/// Other classes that are copied by their bytes. What refers to memory elsewhere is not meant:
/// views and iterators are left out, a pointer among the members cannot be seen.
template <class T>
concept Copyable = std::is_class_v<T> && std::is_trivially_copyable_v<T> &&
                   std::is_default_constructible_v<T> && !std::is_aggregate_v<T> &&
                   !requires(const T& value) {
  value.begin();
}
&&!requires(const T& value) { *value; };

template <size_t... I, class Tuple>
constexpr uint32_t fixed_size_sum(std::index_sequence<I...>, const Tuple*) {
  const uint32_t sizes[] = {Codec<std::tuple_element_t<I, Tuple>>::kFixedSize..., 1};
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof...(I); i++) {
    if (sizes[i] == 0) return 0;
    sum += sizes[i];
  }
  return sum;
}

template <class Tuple, size_t... I>
std::string fingerprint_list(std::index_sequence<I...>) {
  std::string list;
  ((list += (I == 0 ? "" : ",") + Codec<std::tuple_element_t<I, Tuple>>::fingerprint()), ...);
  return list;
}

template <class T>
using FieldTuple = decltype(boost::pfr::structure_to_tuple(std::declval<const T&>()));

}  // namespace codec_detail

template <class T>
requires std::is_arithmetic_v<T>
struct Codec<T> {
  static constexpr uint32_t kFixedSize = sizeof(T);
  static std::string fingerprint() { return codec_detail::arithmetic_name<T>(); }
  static void encode(const T& value, Encoder& encoder) { encoder.write_fixed(value); }
  static void decode(Decoder& decoder, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = codec_detail::read_flag(decoder);
    } else {
      value = decoder.read_fixed<T>();
    }
  }
};

/// Ten bytes on x86; the others are 0.
template <>
struct Codec<long double> {
  static constexpr size_t kUsed = std::numeric_limits<long double>::digits == 64 ? 10 : 16;
  static constexpr uint32_t kFixedSize = 16;
  static std::string fingerprint() { return "f128"; }
  static void encode(const long double& value, Encoder& encoder) {
    char bytes[kFixedSize] = {};
    std::memcpy(bytes, &value, kUsed);
    encoder.write(bytes, sizeof(bytes));
  }
  static void decode(Decoder& decoder, long double& value) {
    std::memcpy(&value, decoder.read_bytes(kFixedSize).data(), kUsed);
  }
};

/// Any value of the underlying type: which of them have a name cannot be seen.
template <class T>
requires std::is_enum_v<T>
struct Codec<T> {
  using Underlying = std::underlying_type_t<T>;
  static constexpr uint32_t kFixedSize = sizeof(T);
  static std::string fingerprint() { return "enum:" + Codec<Underlying>::fingerprint(); }
  static void encode(const T& value, Encoder& encoder) {
    encoder.write_fixed(static_cast<Underlying>(value));
  }
  static void decode(Decoder& decoder, T& value) {
    Underlying number{};
    Codec<Underlying>::decode(decoder, number);
    value = static_cast<T>(number);
  }
};

/// The count of its periods.
template <class Count, class Period>
struct Codec<std::chrono::duration<Count, Period>> {
  using Value = std::chrono::duration<Count, Period>;
  static constexpr uint32_t kFixedSize = Codec<Count>::kFixedSize;
  static std::string fingerprint() {
    return "duration<" + Codec<Count>::fingerprint() + "," + std::to_string(Period::num) + "/" +
           std::to_string(Period::den) + ">";
  }
  static void encode(const Value& value, Encoder& encoder) {
    Codec<Count>::encode(value.count(), encoder);
  }
  static void decode(Decoder& decoder, Value& value) {
    Count count{};
    Codec<Count>::decode(decoder, count);
    value = Value(count);
  }
};

/// Time since its clock's epoch, which should be the same everywhere.
template <class Clock, class Duration>
struct Codec<std::chrono::time_point<Clock, Duration>> {
  using Value = std::chrono::time_point<Clock, Duration>;
  static constexpr uint32_t kFixedSize = Codec<Duration>::kFixedSize;
  static std::string fingerprint() { return "time_point<" + Codec<Duration>::fingerprint() + ">"; }
  static void encode(const Value& value, Encoder& encoder) {
    Codec<Duration>::encode(value.time_since_epoch(), encoder);
  }
  static void decode(Decoder& decoder, Value& value) {
    Duration since_epoch{};
    Codec<Duration>::decode(decoder, since_epoch);
    value = Value(since_epoch);
  }
};

template <>
struct Codec<std::string> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "string"; }
  static void encode(const std::string& value, Encoder& encoder) { encoder.write_text(value); }
  static void decode(Decoder& decoder, std::string& value) { decoder.read_text(value); }
};

template <class A, class B>
struct Codec<std::pair<A, B>> {
  static constexpr uint32_t kFixedSize = Codec<A>::kFixedSize == 0 || Codec<B>::kFixedSize == 0
                                             ? 0
                                             : Codec<A>::kFixedSize + Codec<B>::kFixedSize;
  static std::string fingerprint() {
    return "pair<" + Codec<A>::fingerprint() + "," + Codec<B>::fingerprint() + ">";
  }
  static void encode(const std::pair<A, B>& value, Encoder& encoder) {
    Codec<A>::encode(value.first, encoder);
    Codec<B>::encode(value.second, encoder);
  }
  static void decode(Decoder& decoder, std::pair<A, B>& value) {
    Codec<A>::decode(decoder, value.first);
    Codec<B>::decode(decoder, value.second);
  }
};

template <class... Ts>
struct Codec<std::tuple<Ts...>> {
  using Value = std::tuple<Ts...>;
  static constexpr uint32_t kFixedSize = codec_detail::fixed_size_sum(
      std::index_sequence_for<Ts...>(), static_cast<const Value*>(nullptr));
  static std::string fingerprint() {
    return "tuple<" + codec_detail::fingerprint_list<Value>(std::index_sequence_for<Ts...>()) + ">";
  }
  static void encode(const Value& value, Encoder& encoder) {
    std::apply(
        [&](const auto&... fields) {
          (Codec<std::remove_cvref_t<decltype(fields)>>::encode(fields, encoder), ...);
        },
        value);
  }
  static void decode(Decoder& decoder, Value& value) {
    std::apply(
        [&](auto&... fields) {
          (Codec<std::remove_cvref_t<decltype(fields)>>::decode(decoder, fields), ...);
        },
        value);
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "optional<" + Codec<T>::fingerprint() + ">"; }
  static void encode(const std::optional<T>& value, Encoder& encoder) {
    encoder.write_byte(value.has_value() ? 1 : 0);
    if (value) Codec<T>::encode(*value, encoder);
  }
  static void decode(Decoder& decoder, std::optional<T>& value) {
    if (!codec_detail::read_flag(decoder)) {
      value.reset();
    } else {
      if (!value) value.emplace();
      Codec<T>::decode(decoder, *value);
    }
  }
};

template <>
struct Codec<std::monostate> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "nothing"; }
  static void encode(const std::monostate&, Encoder&) {}
  static void decode(Decoder&, std::monostate&) {}
};

template <class... Ts>
struct Codec<std::variant<Ts...>> {
  using Value = std::variant<Ts...>;
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() {
    return "variant<" +
           codec_detail::fingerprint_list<std::tuple<Ts...>>(std::index_sequence_for<Ts...>()) +
           ">";
  }
  static void encode(const Value& value, Encoder& encoder) {
    if (value.valueless_by_exception()) throw CodecError("a variant holds no value");
    encoder.write_varint(value.index());
    std::visit(
        [&](const auto& one) { Codec<std::remove_cvref_t<decltype(one)>>::encode(one, encoder); },
        value);
  }
  static void decode(Decoder& decoder, Value& value) {
    const uint64_t index = decoder.read_varint();
    if (index >= sizeof...(Ts)) codec_detail::fail_alternative(index, sizeof...(Ts));
    decode_alternative(decoder, value, index, std::index_sequence_for<Ts...>());
  }

 private:
  template <size_t... I>
  static void decode_alternative(Decoder& decoder, Value& value, uint64_t index,
                                 std::index_sequence<I...>) {
    ((I == index ? decode_one<I>(decoder, value) : void()), ...);
  }
  template <size_t kIndex>
  static void decode_one(Decoder& decoder, Value& value) {
    if (value.index() != kIndex) value.template emplace<kIndex>();
    Codec<std::variant_alternative_t<kIndex, Value>>::decode(decoder, std::get<kIndex>(value));
  }
};

/// Its length and its bytes. The order of entries of a `map` field is not defined: such a message
/// is no key.
template <codec_detail::Message T>
struct Codec<T> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "protobuf:" + std::string(T().GetTypeName()); }
  static void encode(const T& value, Encoder& encoder) {
    std::string bytes;
    if (!value.SerializeToString(&bytes))
      throw CodecError("a " + fingerprint() + " cannot be serialised");
    encoder.write_string(bytes);
  }
  static void decode(Decoder& decoder, T& value) {
    const std::string_view bytes = decoder.read_string();
    if (bytes.size() > std::numeric_limits<int>::max() ||
        !value.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      throw CodecError("bytes are no " + fingerprint());
  }
};

/// Field by field, in their order (Boost.PFR): a swap of two fields of one type cannot be seen.
/// Aggregates with base classes or arrays of C need FRESHET_FIELDS.
template <codec_detail::Aggregate T>
struct Codec<T> {
  using Fields = codec_detail::FieldTuple<T>;
  static constexpr size_t kFields = std::tuple_size_v<Fields>;
  static constexpr uint32_t kFixedSize = codec_detail::fixed_size_sum(
      std::make_index_sequence<kFields>(), static_cast<const Fields*>(nullptr));
  static std::string fingerprint() {
    const codec_detail::FingerprintDepth depth(typeid(T));
    return "struct{" + codec_detail::fingerprint_list<Fields>(std::make_index_sequence<kFields>()) +
           "}";
  }
  static void encode(const T& value, Encoder& encoder) {
    boost::pfr::for_each_field(value, [&](const auto& field) {
      Codec<std::remove_cvref_t<decltype(field)>>::encode(field, encoder);
    });
  }
  static void decode(Decoder& decoder, T& value) {
    boost::pfr::for_each_field(value, [&](auto& field) {
      Codec<std::remove_cvref_t<decltype(field)>>::decode(decoder, field);
    });
  }
};

/// Its bytes in memory, with 0 where no member is. A change of the members is seen only by the
/// class's name and size: FRESHET_FIELDS sees more.
template <codec_detail::Copyable T>
struct Codec<T> {
  static constexpr uint32_t kFixedSize = sizeof(T);
  static std::string fingerprint() {
    return "bytes<" + codec_detail::type_name(typeid(T)) + "," + std::to_string(sizeof(T)) + ">";
  }
  static void encode(const T& value, Encoder& encoder) {
    T copy = value;
#ifdef __GNUC__
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&copy);
#endif
#endif
    encoder.write(&copy, sizeof(T));
  }
  static void decode(Decoder& decoder, T& value) {
    decoder.read(static_cast<void*>(&value), sizeof(T));
  }
};

}  // namespace freshet
