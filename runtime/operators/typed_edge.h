#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/codec.h"
#include "runtime/base/hash.h"
#include "runtime/operators/edge_type.h"
#include "runtime/operators/key_selector.h"

namespace freshet {

/// Decodes into one value, again and again, so that strings and vectors keep their memory.
template <class T>
class TypedReader final : public RecordReader {
 public:
  void read(std::string_view bytes, EpochMillis timestamp, RecordReceiver& to) override {
    Decoder decoder(bytes);
    Codec<T>::decode(decoder, value_);
    if (decoder.remaining() != 0) throw CodecError("an element is longer than its record");
    to.receive(&value_, timestamp);
  }

 private:
  T value_{};
};

/// The codec of records that carry no key and name no subtask.
template <class T>
class TypedEdge : public EdgeType {
 public:
  const std::string& fingerprint() const override { return fingerprint_; }
  uint32_t fixed_size() const override { return Codec<T>::kFixedSize; }

  void encode(const void* record, Encoder& encoder) const override {
    Codec<T>::encode(*static_cast<const T*>(record), encoder);
  }

  std::unique_ptr<RecordReader> make_reader() const override {
    return std::make_unique<TypedReader<T>>();
  }

  uint64_t key_hash(const void* /*record*/, Encoder& /*scratch*/) const override { CHECK(false); }
  uint32_t target(const void* /*record*/, uint32_t /*consumers*/) const override { CHECK(false); }

 private:
  const std::string fingerprint_ = Codec<T>::fingerprint();
};

/// The codec of records that are spread by key: the hash is a pure function of the key's encoding.
template <class K, class T>
class KeyedEdge final : public TypedEdge<T> {
 public:
  explicit KeyedEdge(std::shared_ptr<const KeySelector<K, T>> selector)
      : selector_(std::move(selector)) {}

  uint64_t key_hash(const void* record, Encoder& scratch) const override {
    K key_memory{};
    const K& key = selector_->key(*static_cast<const T*>(record), key_memory);
    char bytes[kBytesInPlace];
    scratch.start(bytes, bytes + sizeof(bytes));
    Codec<K>::encode(key, scratch);
    const uint64_t hash = hash_key(scratch.bytes());
    scratch.start(nullptr, nullptr);  // The memory is gone when this returns.
    return hash;
  }

 private:
  static constexpr size_t kBytesInPlace = 128;  // Longer keys take memory of the encoder.

  const std::shared_ptr<const KeySelector<K, T>> selector_;
};

}  // namespace freshet
