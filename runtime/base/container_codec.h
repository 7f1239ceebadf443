#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/base/encodable.h"

namespace freshet {

// Bytes of a container:
//
//   container := varint entries, entry...
//   entry     := value | key, value | u8 0     the last one when the value takes no bytes
//
// so that no container has more entries than bytes. Sequences, sets and maps of the same entries
// have the same fingerprint each, whatever their kind. Hash containers are in the order of their
// entries' bytes: their own depends on their history.

namespace codec_detail {

/// Values whose bytes in memory are their encoding, so that many are copied at once.
template <class T>
inline constexpr bool kCopied =
    std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, long double>;
template <class T>
requires std::is_enum_v<T>
inline constexpr bool kCopied<T> = kCopied<std::underlying_type_t<T>>;

/// The number of entries that follow, each of `entry_bytes`, or of one at least when that is 0.
uint64_t read_entry_count(Decoder& decoder, uint32_t entry_bytes);

/// The byte of an entry that takes none otherwise.
void read_empty_entry(Decoder& decoder);

template <class Entry>
struct EntryCodec {
  static constexpr uint32_t kFixedSize = Codec<Entry>::kFixedSize;
  static std::string fingerprint() { return Codec<Entry>::fingerprint(); }
  static void encode(const Entry& entry, Encoder& encoder) { Codec<Entry>::encode(entry, encoder); }
};

template <class K, class V>
struct EntryCodec<std::pair<const K, V>> {
  static constexpr uint32_t kFixedSize = Codec<K>::kFixedSize == 0 || Codec<V>::kFixedSize == 0
                                             ? 0
                                             : Codec<K>::kFixedSize + Codec<V>::kFixedSize;
  static std::string fingerprint() {
    return Codec<K>::fingerprint() + "," + Codec<V>::fingerprint();
  }
  static void encode(const std::pair<const K, V>& entry, Encoder& encoder) {
    Codec<K>::encode(entry.first, encoder);
    Codec<V>::encode(entry.second, encoder);
  }
};

template <class Entry>
void encode_entry(const Entry& entry, Encoder& encoder) {
  if constexpr (EntryCodec<Entry>::kFixedSize != 0) {
    EntryCodec<Entry>::encode(entry, encoder);
  } else {
    const size_t before = encoder.bytes().size();
    EntryCodec<Entry>::encode(entry, encoder);
    if (encoder.bytes().size() == before) encoder.write_byte(0);
  }
}

/// Calls `decode_entry()` once for each entry.
template <class Entry, class DecodeEntry>
void decode_entries(Decoder& decoder, DecodeEntry&& decode_entry) {
  for (uint64_t left = read_entry_count(decoder, EntryCodec<Entry>::kFixedSize); left > 0; left--) {
    const size_t before = decoder.remaining();
    decode_entry();
    if (decoder.remaining() == before) read_empty_entry(decoder);
  }
}

template <class Values>
void encode_in_order(const Values& values, Encoder& encoder) {
  using Entry = typename Values::value_type;
  encoder.write_varint(values.size());
  if constexpr (kCopied<Entry> && requires { values.data(); }) {
    if (!values.empty()) encoder.write(values.data(), values.size() * sizeof(Entry));
  } else {
    for (const Entry& entry : values) encode_entry(entry, encoder);
  }
}

template <class Values>
void encode_sorted(const Values& values, Encoder& encoder) {
  Encoder unsorted;
  std::vector<size_t> ends;
  ends.reserve(values.size());
  for (const auto& entry : values) {
    encode_entry(entry, unsorted);
    ends.push_back(unsorted.bytes().size());
  }
  std::vector<std::string_view> entries;
  entries.reserve(ends.size());
  size_t begin = 0;
  for (const size_t end : ends) {
    entries.push_back(unsorted.bytes().substr(begin, end - begin));
    begin = end;
  }
  std::sort(entries.begin(), entries.end());
  encoder.write_varint(entries.size());
  for (const std::string_view entry : entries) encoder.write(entry.data(), entry.size());
}

template <class Values>
struct SequenceCodec {
  using Entry = typename Values::value_type;
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "list<" + Codec<Entry>::fingerprint() + ">"; }
  static void encode(const Values& values, Encoder& encoder) { encode_in_order(values, encoder); }
  static void decode(Decoder& decoder, Values& values) {
    values.clear();
    decode_entries<Entry>(decoder, [&] { Codec<Entry>::decode(decoder, values.emplace_back()); });
  }
};

template <class Values, bool kSorted, bool kMultiple>
struct SetCodec {
  using Entry = typename Values::value_type;
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() {
    return (kMultiple ? "multiset<" : "set<") + Codec<Entry>::fingerprint() + ">";
  }
  static void encode(const Values& values, Encoder& encoder) {
    kSorted ? encode_in_order(values, encoder) : encode_sorted(values, encoder);
  }
  static void decode(Decoder& decoder, Values& values) {
    values.clear();
    decode_entries<Entry>(decoder, [&] {
      Entry entry{};
      Codec<Entry>::decode(decoder, entry);
      const size_t before = values.size();
      values.insert(values.end(), std::move(entry));
      if (values.size() == before) throw CodecError("a set has a value twice");
    });
  }
};

template <class Values, bool kSorted, bool kMultiple>
struct MapCodec {
  using Key = typename Values::key_type;
  using Mapped = typename Values::mapped_type;
  using Entry = typename Values::value_type;
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() {
    return (kMultiple ? "multimap<" : "map<") + EntryCodec<Entry>::fingerprint() + ">";
  }
  static void encode(const Values& values, Encoder& encoder) {
    kSorted ? encode_in_order(values, encoder) : encode_sorted(values, encoder);
  }
  static void decode(Decoder& decoder, Values& values) {
    values.clear();
    decode_entries<Entry>(decoder, [&] {
      Key key{};
      Mapped mapped{};
      Codec<Key>::decode(decoder, key);
      Codec<Mapped>::decode(decoder, mapped);
      const size_t before = values.size();
      values.emplace_hint(values.end(), std::move(key), std::move(mapped));
      if (values.size() == before) throw CodecError("a map has a key twice");
    });
  }
};

}  // namespace codec_detail

template <class T, class... More>
struct Codec<std::vector<T, More...>> : codec_detail::SequenceCodec<std::vector<T, More...>> {
  /// Strings and vectors in old entries keep their memory.
  static void decode(Decoder& decoder, std::vector<T, More...>& values) {
    if constexpr (codec_detail::kCopied<T>) {
      values.resize(codec_detail::read_entry_count(decoder, sizeof(T)));
      if (!values.empty()) decoder.read(values.data(), values.size() * sizeof(T));
    } else if constexpr (std::is_same_v<T, bool>) {  // No references to its entries.
      values.clear();
      codec_detail::decode_entries<T>(decoder, [&] {
        T value = false;
        Codec<T>::decode(decoder, value);
        values.push_back(value);
      });
    } else {
      size_t decoded = 0;
      codec_detail::decode_entries<T>(decoder, [&] {
        if (decoded == values.size()) values.emplace_back();
        Codec<T>::decode(decoder, values[decoded++]);
      });
      values.resize(decoded);
    }
  }
};

template <class T, class... More>
struct Codec<std::deque<T, More...>> : codec_detail::SequenceCodec<std::deque<T, More...>> {};

template <class T, class... More>
struct Codec<std::list<T, More...>> : codec_detail::SequenceCodec<std::list<T, More...>> {};

template <class... Ts>
struct Codec<std::set<Ts...>> : codec_detail::SetCodec<std::set<Ts...>, true, false> {};
template <class... Ts>
struct Codec<std::multiset<Ts...>> : codec_detail::SetCodec<std::multiset<Ts...>, true, true> {};
template <class... Ts>
struct Codec<std::unordered_set<Ts...>>
    : codec_detail::SetCodec<std::unordered_set<Ts...>, false, false> {};
template <class... Ts>
struct Codec<std::unordered_multiset<Ts...>>
    : codec_detail::SetCodec<std::unordered_multiset<Ts...>, false, true> {};

template <class... Ts>
struct Codec<std::map<Ts...>> : codec_detail::MapCodec<std::map<Ts...>, true, false> {};
template <class... Ts>
struct Codec<std::multimap<Ts...>> : codec_detail::MapCodec<std::multimap<Ts...>, true, true> {};
template <class... Ts>
struct Codec<std::unordered_map<Ts...>>
    : codec_detail::MapCodec<std::unordered_map<Ts...>, false, false> {};
template <class... Ts>
struct Codec<std::unordered_multimap<Ts...>>
    : codec_detail::MapCodec<std::unordered_multimap<Ts...>, false, true> {};

namespace codec_detail {

/// The values of an array one after the other; their number is known.
template <class T, size_t N>
struct ArrayCodec {
  static constexpr uint32_t kFixedSize = Codec<T>::kFixedSize * N;
  static std::string fingerprint() {
    return "array<" + Codec<T>::fingerprint() + "," + std::to_string(N) + ">";
  }
  static void encode_values(const T* values, Encoder& encoder) {
    if constexpr (kCopied<T> && N > 0) {
      encoder.write(values, N * sizeof(T));
    } else {
      for (size_t i = 0; i < N; i++) Codec<T>::encode(values[i], encoder);
    }
  }
  static void decode_values(Decoder& decoder, T* values) {
    if constexpr (kCopied<T> && N > 0) {
      decoder.read(values, N * sizeof(T));
    } else {
      for (size_t i = 0; i < N; i++) Codec<T>::decode(decoder, values[i]);
    }
  }
};

}  // namespace codec_detail

template <class T, size_t N>
struct Codec<std::array<T, N>> : codec_detail::ArrayCodec<T, N> {
  static void encode(const std::array<T, N>& values, Encoder& encoder) {
    Codec::encode_values(values.data(), encoder);
  }
  static void decode(Decoder& decoder, std::array<T, N>& values) {
    Codec::decode_values(decoder, values.data());
  }
};

/// As a field of FRESHET_FIELDS.
template <class T, size_t N>
struct Codec<T[N]> : codec_detail::ArrayCodec<T, N> {
  static void encode(const T (&values)[N], Encoder& encoder) {
    Codec::encode_values(values, encoder);
  }
  static void decode(Decoder& decoder, T (&values)[N]) { Codec::decode_values(decoder, values); }
};

}  // namespace freshet
