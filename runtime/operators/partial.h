#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/codec.h"
#include "runtime/operators/key_selector.h"

namespace freshet {

/// What was made of some records of a key, on its way to the rest. With the key, which the value
/// need not have any more.
template <class K, class T>
struct Partial {
  K key{};
  T value{};
};

template <class K, class T>
struct Codec<Partial<K, T>> {
  static constexpr uint32_t kFixedSize = Codec<K>::kFixedSize == 0 || Codec<T>::kFixedSize == 0
                                             ? 0
                                             : Codec<K>::kFixedSize + Codec<T>::kFixedSize;
  static std::string fingerprint() {
    return "partial<" + Codec<K>::fingerprint() + "," + Codec<T>::fingerprint() + ">";
  }
  static void encode(const Partial<K, T>& partial, Encoder& encoder) {
    Codec<K>::encode(partial.key, encoder);
    Codec<T>::encode(partial.value, encoder);
  }
  static void decode(Decoder& decoder, Partial<K, T>& partial) {
    Codec<K>::decode(decoder, partial.key);
    Codec<T>::decode(decoder, partial.value);
  }
};

/// How a fold takes the values that come to it: as they are, or partial.
template <class In>
struct FoldInput {
  static const In& value(const In& in) { return in; }
};
template <class K, class T>
struct FoldInput<Partial<K, T>> {
  static const T& value(const Partial<K, T>& in) { return in.value; }
};

template <class K, class T>
std::shared_ptr<const KeySelector<K, Partial<K, T>>> partial_key() {
  using Field = K Partial<K, T>::*;
  return std::make_shared<FunctionKeySelector<K, Partial<K, T>, Field>>(&Partial<K, T>::key);
}

}  // namespace freshet
