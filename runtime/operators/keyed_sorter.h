#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/base/codec.h"
#include "runtime/base/time.h"
#include "runtime/operators/spill_error.h"
#include "state/external_sorter.h"

namespace freshet {

/// Records in the order of their serialised keys, those of one key by their timestamps, and equal
/// ones as they came. Throws SpillError.
template <class K, class T>
class KeyedSorter {
 public:
  /// `space` outlives it.
  explicit KeyedSorter(SpillSpace& space) : sorter_(space) {}

  void add(const K& key, EpochMillis timestamp, const T& record) {
    key_encoder_.start(nullptr, nullptr);
    Codec<K>::encode(key, key_encoder_);
    // No encoding is the beginning of another one, so that the bytes of keys decide first.
    key_encoder_.write_fixed(to_ordered(timestamp));
    record_encoder_.start(nullptr, nullptr);
    Codec<T>::encode(record, record_encoder_);
    require_spilled(sorter_.add(key_encoder_.bytes(), record_encoder_.bytes()));
  }

  /// After the last add(). Does a piece of work; true when next() may be called.
  bool prepare() { return spilled_value(sorter_.prepare()); }

  /// Goes to the next record, or the first; false when there is none.
  bool next() {
    if (!spilled_value(sorter_.next())) return false;
    const std::string_view bytes = sorter_.key();
    const std::string_view key = bytes.substr(0, bytes.size() - sizeof(uint64_t));
    is_new_key_ = !begun_ || key != key_bytes_;
    if (is_new_key_) {
      key_bytes_ = key;
      decode(key, key_);
    }
    begun_ = true;
    uint64_t ordered = 0;
    std::memcpy(&ordered, bytes.data() + key.size(), sizeof(ordered));
    timestamp_ = from_ordered(ordered);
    decode(sorter_.value(), record_);
    return true;
  }

  // Of the record.
  bool is_new_key() const { return is_new_key_; }
  const K& key() const { return key_; }
  EpochMillis timestamp() const { return timestamp_; }
  const T& record() const { return record_; }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;

  /// Whose bytes are ordered as timestamps are.
  static uint64_t to_ordered(EpochMillis timestamp) {
    return __builtin_bswap64(static_cast<uint64_t>(timestamp) ^ kSign);
  }
  static EpochMillis from_ordered(uint64_t ordered) {
    return static_cast<EpochMillis>(__builtin_bswap64(ordered) ^ kSign);
  }

  template <class V>
  static void decode(std::string_view bytes, V& value) {
    Decoder decoder(bytes);
    Codec<V>::decode(decoder, value);
  }

  ExternalSorter sorter_;
  Encoder key_encoder_;
  Encoder record_encoder_;
  bool begun_ = false;
  bool is_new_key_ = false;
  std::string key_bytes_;
  K key_{};
  EpochMillis timestamp_ = kNoTimestamp;
  T record_{};
};

}  // namespace freshet
