#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "runtime/base/encoding.h"

namespace freshet {

/// How values of T become bytes and back: little-endian, self-contained, the same in every process.
/// codec.h has those of numbers, enums, strings, standard containers, pairs, tuples, optionals,
/// variants, times, aggregates, Protobuf messages, and other trivially copyable classes. Specialise
/// it for the rest:
///
///   template <>
///   struct freshet::Codec<Point> {
///     static constexpr uint32_t kFixedSize = 16;  // Bytes of every value, or 0 if they differ.
///     static std::string fingerprint() { return "point(f64,f64)"; }
///     static void encode(const Point&, Encoder&);
///     static void decode(Decoder&, Point&);  // Into an old value; throws CodecError on bad bytes.
///   };
///
/// The fingerprint names the format. It is stored with state and compared when a job is submitted:
/// change it whenever the bytes change. The bytes must be a function of the value alone, since keys
/// are hashed by them. decode() reads what encode() wrote and no more, and must not trust a size
/// before it has seen as many bytes.
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

}  // namespace freshet
