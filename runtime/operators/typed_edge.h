#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/codec.h"
#include "runtime/base/key_hash.h"
#include "runtime/operators/edge_type.h"
#include "runtime/operators/key_selector.h"

namespace freshet {

namespace typed_edge_detail {

/// Types whose encoding is their bytes, of which all are valid.
template <class T>
inline constexpr bool kPlain = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                               (std::is_integral_v<T> && !std::is_same_v<T, bool>);

}  // namespace typed_edge_detail

/// Decodes into the same few values, again and again, so that strings and vectors keep their
/// memory.
template <class T>
class TypedReader final : public RecordReader {
 public:
  void read(std::string_view bytes, EpochMillis timestamp, RecordReceiver& to) override {
    batch_.count = batch_.begun = 0;
    decode(bytes, values_[0]);
    to.receive(&values_[0], timestamp);
  }

  void read_run(RecordRun& run, RecordReceiver& to) override {
    do {
      batch_.count = batch_.begun = 0;
      try {
        fill_batch(run);
      } catch (...) {
        undecoded_ = 1;
        to.receive_batch(batch_);  // Those before it are in order.
        undecoded_ = 0;
        throw;
      }
      to.receive_batch(batch_);
    } while (batch_.count != 0);
  }

  uint32_t read_ahead() const override { return batch_.count - batch_.begun + undecoded_; }

 private:
  static constexpr size_t kBatchBytes = 4096;  // About, encoded or not; large records come alone.
  static constexpr size_t kValues =
      std::clamp<size_t>(kBatchBytes / sizeof(T), 1, RecordBatch::kRecordsMax);

  static void decode(std::string_view bytes, T& value) {
    Decoder decoder(bytes);
    Codec<T>::decode(decoder, value);
    if (decoder.remaining() != 0) throw CodecError("an element is longer than its record");
  }

  /// The records of many are copied at once; false when they have to be decoded one by one.
  bool copy_batch(RecordRun& run) {
    const std::string_view bytes = run.next_plain(kValues);
    if (bytes.empty()) return false;
    std::memcpy(values_.data(), bytes.data(), bytes.size());
    batch_.count = static_cast<uint32_t>(bytes.size() / sizeof(T));
    for (uint32_t i = 0; i < batch_.count; i++) {
      batch_.records[i] = &values_[i];
      batch_.timestamps[i] = kNoTimestamp;
    }
    return true;
  }

  /// The next record of `rest`; `run` is used for what is not inlined.
  static bool next(RecordRun& run, RecordRun& rest, std::string_view* bytes,
                   EpochMillis* timestamp) {
    if (rest.next_small(bytes, timestamp)) [[likely]]
      return true;
    run = rest;
    const bool found = run.next(bytes, timestamp);
    rest = run;
    return found;
  }

  // Everything is inlined, so that what is left of the run, of which nobody else knows, is in
  // registers.
  [[gnu::flatten]] void fill_batch(RecordRun& run) {
    if constexpr (typed_edge_detail::kPlain<T>) {
      if (copy_batch(run)) return;
    }
    RecordRun rest = run;
    uint32_t count = 0;
    const auto leave = [&] {
      run = rest;
      batch_.count = count;
    };
    try {
      std::string_view bytes;
      const size_t bytes_max = rest.bytes() + kBatchBytes;
      while (count < kValues && rest.bytes() < bytes_max &&
             next(run, rest, &bytes, &batch_.timestamps[count])) {
        T& value = values_[count];
        decode(bytes, value);
        batch_.records[count] = &value;
        ++count;
      }
    } catch (...) {
      leave();
      throw;
    }
    leave();
  }

  std::array<T, kValues> values_{};
  RecordBatch batch_;
  uint32_t undecoded_ = 0;  // Taken behind the batch, while that is processed.
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

  void write(const void* record, EpochMillis timestamp, RecordOutput& output,
             uint32_t channel) const override {
    if constexpr (typed_edge_detail::kPlain<T>) {
      output.write_plain(channel, timestamp, *static_cast<const T*>(record));
      return;
    }
    output.write(channel, timestamp, Codec<T>::kFixedSize, [record](Encoder& encoder) {
      Codec<T>::encode(*static_cast<const T*>(record), encoder);
    });
  }

  // Inlined: what each record would store for calls delays what it stores in blocks, which are in
  // no cache when there are many.
  [[gnu::flatten]] void write_batch(RecordBatch& batch, RecordOutput& output,
                                    const uint32_t* channels) const override {
    while (batch.begun < batch.count) {
      const uint32_t i = batch.begun++;
      TypedEdge::write(batch.records[i], batch.timestamps[i], output, channels[i]);
    }
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
      : selector_(std::move(selector)), field_(selector_->field()) {}

  [[gnu::flatten]] void write_by_key(const void* record, EpochMillis timestamp,
                                     RecordOutput& output, const KeyedConsumers& consumers,
                                     Encoder& scratch) const override {
    TypedEdge<T>::write(record, timestamp, output,
                        consumers.subtask_of(KeyedEdge::key_hash(record, scratch)));
  }

  uint64_t key_hash(const void* record, Encoder& scratch) const override {
    const T& value = *static_cast<const T*>(record);
    if constexpr (std::is_class_v<T>) {
      if (field_ != nullptr) return hash_key_value(value.*field_, scratch);
    }
    return hash_computed_key(value, scratch);
  }

 private:
  [[gnu::noinline]] uint64_t hash_computed_key(const T& value, Encoder& scratch) const {
    K key_memory{};
    return hash_key_value(selector_->key(value, key_memory), scratch);
  }

  const std::shared_ptr<const KeySelector<K, T>> selector_;
  const KeyField<K, T> field_;
};

}  // namespace freshet
