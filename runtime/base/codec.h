#pragma once

#include <array>
#include <boost/pfr.hpp>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/encoding.h"

namespace freshet {

/// How values of T become bytes and back: little-endian, self-contained, the same in every process.
/// Specialise it for types that the standard ones below do not cover:
///
///   template <> struct freshet::Codec<Point> {
///     static constexpr uint32_t kFixedSize = 0;              // Bytes of every value, or 0 if they
///     differ. static std::string fingerprint() { return "point(f64,f64)"; } static void
///     encode(const Point&, Encoder&); static void decode(Decoder&, Point&);                  //
///     Into an old value; throws CodecError on bad bytes.
///   };
///
/// The fingerprint names the format. It is stored with state and compared when a job is submitted:
/// change it whenever the bytes change. Aggregates are encoded field by field in their order
/// (Boost.PFR): a swap of two fields of one type cannot be seen.
template <class T>
struct Codec;

template <class T>
concept Encodable = requires(const T& in, T& out, Encoder& encoder, Decoder& decoder) {
  { Codec<T>::kFixedSize } -> std::convertible_to<uint32_t>;
  { Codec<T>::fingerprint() } -> std::convertible_to<std::string>;
  Codec<T>::encode(in, encoder);
  Codec<T>::decode(decoder, out);
};

/// The type's fingerprint, such as `map<string,i64>`.
template <class T>
std::string fingerprint_of() {
  return Codec<T>::fingerprint();
}

namespace codec_detail {

/// The number of entries that follow. Entries of no bytes are possible, so only a number that no
/// honest sender means is refused; all others run into the end of the bytes.
inline uint64_t read_size(Decoder& decoder) {
  constexpr uint64_t kEmptyEntriesMax = 1 << 24;
  const uint64_t size = decoder.read_varint();
  if (size > decoder.remaining() && size > kEmptyEntriesMax) {
    throw CodecError("a container names more entries than it has bytes");
  }
  return size;
}

template <class T>
std::string arithmetic_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  const std::string bits = std::to_string(sizeof(T) * 8);
  if constexpr (std::is_floating_point_v<T>) return "f" + bits;
  return (std::is_signed_v<T> ? "i" : "u") + bits;
}

template <class T>
struct Container {
  static constexpr uint32_t kFixedSize = 0;
  static void encode(const T& values, Encoder& encoder) {
    encoder.write_varint(values.size());
    for (const auto& value : values)
      Codec<std::remove_cvref_t<decltype(value)>>::encode(value, encoder);
  }
};

/// Hash containers iterate in an order that depends on their history; bytes must not, so entries
/// are sorted.
template <class T, class Entry>
struct Unordered {
  static constexpr uint32_t kFixedSize = 0;
  static void encode(const T& values, Encoder& encoder) {
    std::set<std::string> entries;
    for (const auto& value : values) {
      Encoder one;
      if constexpr (requires { value.first; }) {
        Codec<std::remove_cvref_t<decltype(value.first)>>::encode(value.first, one);
        Codec<std::remove_cvref_t<decltype(value.second)>>::encode(value.second, one);
      } else {
        Codec<Entry>::encode(value, one);
      }
      entries.emplace(one.bytes());
    }
    encoder.write_varint(entries.size());
    for (const std::string& entry : entries) encoder.write(entry.data(), entry.size());
  }
};

/// A protobuf message, full or lite, without naming protobuf.
template <class T>
concept Message = requires(const T& in, T& out, std::string* text, std::string name) {
  { in.SerializeToString(text) } -> std::convertible_to<bool>;
  { out.ParseFromString(name) } -> std::convertible_to<bool>;
  { in.GetTypeName() } -> std::convertible_to<std::string>;
};

template <class T>
concept Aggregate =
    std::is_aggregate_v<T> && !std::is_array_v<T> && std::is_class_v<T> && !Message<T>;

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
      value = decoder.read_fixed<uint8_t>() != 0;
    } else {
      value = decoder.read_fixed<T>();
    }
  }
};

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
    value = static_cast<T>(decoder.read_fixed<Underlying>());
  }
};

template <>
struct Codec<std::string> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "string"; }
  static void encode(const std::string& value, Encoder& encoder) { encoder.write_string(value); }
  static void decode(Decoder& decoder, std::string& value) { value = decoder.read_string(); }
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
    if (decoder.read_fixed<uint8_t>() == 0) {
      value.reset();
    } else {
      Codec<T>::decode(decoder, value.emplace());
    }
  }
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
    encoder.write_varint(value.index());
    std::visit(
        [&](const auto& one) { Codec<std::remove_cvref_t<decltype(one)>>::encode(one, encoder); },
        value);
  }
  static void decode(Decoder& decoder, Value& value) {
    const uint64_t index = decoder.read_varint();
    if (index >= sizeof...(Ts))
      throw CodecError("a variant names an alternative that does not exist");
    decode_alternative(decoder, value, index, std::index_sequence_for<Ts...>());
  }

 private:
  template <size_t... I>
  static void decode_alternative(Decoder& decoder, Value& value, uint64_t index,
                                 std::index_sequence<I...>) {
    ((I == index ? Codec<std::variant_alternative_t<I, Value>>::decode(decoder,
                                                                       value.template emplace<I>())
                 : void()),
     ...);
  }
};

template <class T>
struct Codec<std::vector<T>> : codec_detail::Container<std::vector<T>> {
  static std::string fingerprint() { return "list<" + Codec<T>::fingerprint() + ">"; }
  static void decode(Decoder& decoder, std::vector<T>& values) {
    const uint64_t size = codec_detail::read_size(decoder);
    values.clear();
    for (uint64_t i = 0; i < size; i++) {  // No reserve: the size may be a lie, the bytes cannot.
      T value{};
      Codec<T>::decode(decoder, value);
      values.push_back(std::move(value));
    }
  }
};

template <class T, size_t N>
struct Codec<std::array<T, N>> {
  static constexpr uint32_t kFixedSize = Codec<T>::kFixedSize * N;
  static std::string fingerprint() {
    return "array<" + Codec<T>::fingerprint() + "," + std::to_string(N) + ">";
  }
  static void encode(const std::array<T, N>& values, Encoder& encoder) {
    for (const T& value : values) Codec<T>::encode(value, encoder);
  }
  static void decode(Decoder& decoder, std::array<T, N>& values) {
    for (T& value : values) Codec<T>::decode(decoder, value);
  }
};

template <class T>
struct Codec<std::set<T>> : codec_detail::Container<std::set<T>> {
  static std::string fingerprint() { return "set<" + Codec<T>::fingerprint() + ">"; }
  static void decode(Decoder& decoder, std::set<T>& values) {
    const uint64_t size = codec_detail::read_size(decoder);
    values.clear();
    for (uint64_t i = 0; i < size; i++) {
      T value{};
      Codec<T>::decode(decoder, value);
      values.insert(std::move(value));
    }
  }
};

template <class K, class V>
struct Codec<std::map<K, V>> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() {
    return "map<" + Codec<K>::fingerprint() + "," + Codec<V>::fingerprint() + ">";
  }
  static void encode(const std::map<K, V>& values, Encoder& encoder) {
    encoder.write_varint(values.size());
    for (const auto& [key, value] : values) {
      Codec<K>::encode(key, encoder);
      Codec<V>::encode(value, encoder);
    }
  }
  static void decode(Decoder& decoder, std::map<K, V>& values) {
    const uint64_t size = codec_detail::read_size(decoder);
    values.clear();
    for (uint64_t i = 0; i < size; i++) {
      K key{};
      V value{};
      Codec<K>::decode(decoder, key);
      Codec<V>::decode(decoder, value);
      values.insert_or_assign(std::move(key), std::move(value));
    }
  }
};

template <class K, class V>
struct Codec<std::unordered_map<K, V>> : codec_detail::Unordered<std::unordered_map<K, V>, void> {
  static std::string fingerprint() {
    return "map<" + Codec<K>::fingerprint() + "," + Codec<V>::fingerprint() + ">";
  }
  static void decode(Decoder& decoder, std::unordered_map<K, V>& values) {
    const uint64_t size = codec_detail::read_size(decoder);
    values.clear();
    for (uint64_t i = 0; i < size; i++) {
      K key{};
      V value{};
      Codec<K>::decode(decoder, key);
      Codec<V>::decode(decoder, value);
      values.insert_or_assign(std::move(key), std::move(value));
    }
  }
};

template <class T>
struct Codec<std::unordered_set<T>> : codec_detail::Unordered<std::unordered_set<T>, T> {
  static std::string fingerprint() { return "set<" + Codec<T>::fingerprint() + ">"; }
  static void decode(Decoder& decoder, std::unordered_set<T>& values) {
    const uint64_t size = codec_detail::read_size(decoder);
    values.clear();
    for (uint64_t i = 0; i < size; i++) {
      T value{};
      Codec<T>::decode(decoder, value);
      values.insert(std::move(value));
    }
  }
};

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
    if (!value.ParseFromString(std::string(decoder.read_string())))
      throw CodecError("bytes are no " + fingerprint());
  }
};

template <codec_detail::Aggregate T>
struct Codec<T> {
  using Fields = codec_detail::FieldTuple<T>;
  static constexpr size_t kFields = std::tuple_size_v<Fields>;
  static constexpr uint32_t kFixedSize = codec_detail::fixed_size_sum(
      std::make_index_sequence<kFields>(), static_cast<const Fields*>(nullptr));
  static std::string fingerprint() {
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

}  // namespace freshet
