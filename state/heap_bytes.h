#pragma once

#include <boost/pfr.hpp>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/base/codec.h"

namespace freshet {

namespace heap_bytes_detail {

template <class T>
inline constexpr bool kIsString = std::is_same_v<T, std::string>;

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <class T>
concept EncodedFieldByField = codec_detail::Aggregate<T> && requires {
  typename Codec<T>::Fields;
};

inline size_t of_block(size_t bytes) { return bytes == 0 ? 0 : bytes + 16; }

}  // namespace heap_bytes_detail

/// True when no value of T has memory of its own.
template <class T>
inline constexpr bool kNoHeapBytes = std::is_trivially_copyable_v<T> || Codec<T>::kFixedSize != 0;

/// About how many bytes a value has outside of itself. Costs a look for numbers, strings and
/// vectors of numbers, and aggregates of these; a walk for vectors of others; for the rest it takes
/// twice the bytes of the value's encoding.
template <class T>
size_t heap_bytes(const T& value) {
  using namespace heap_bytes_detail;
  if constexpr (kNoHeapBytes<T>) {
    return 0;
  } else if constexpr (kIsString<T>) {
    static const size_t in_place = std::string().capacity();
    return value.capacity() <= in_place ? 0 : of_block(value.capacity() + 1);
  } else if constexpr (kIsVector<T>) {
    using Element = typename T::value_type;
    size_t bytes = of_block(value.capacity() * sizeof(Element));
    if constexpr (!kNoHeapBytes<Element>) {
      for (const Element& element : value) bytes += heap_bytes(element);
    }
    return bytes;
  } else if constexpr (EncodedFieldByField<T>) {
    size_t bytes = 0;
    boost::pfr::for_each_field(value, [&](const auto& field) { bytes += heap_bytes(field); });
    return bytes;
  } else {
    Encoder encoder;
    encoder.start(nullptr, nullptr);
    Codec<T>::encode(value, encoder);
    return of_block(2 * encoder.bytes().size());
  }
}

}  // namespace freshet
