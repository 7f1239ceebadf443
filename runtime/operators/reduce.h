#pragma once

#include <array>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/operators/emit.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/key_selector.h"
#include "runtime/operators/operator.h"
#include "state/heap_table.h"

namespace freshet {

/// What a reduce operator is made from. `function` is `T(const T& so_far, const T& record)`, or
/// changes the value in place: `void(T& so_far, const T& record)`.
/// `Rows` says how a HeapTable keeps the keys.
template <class K, class T, class F, class Rows = KeyBesideValue<K, T>>
struct Reduction {
  std::shared_ptr<const KeySelector<K, T>> selector;
  F function;
  Emit emit = Emit::updates;
  Rows rows{};
};

/// Folds the records of each key into one; the first is taken as it is.
template <class K, class T, class F, class Rows = KeyBesideValue<K, T>>
class ReduceOperator final : public Operator {
 public:
  explicit ReduceOperator(Reduction<K, T, F, Rows> reduction)
      : reduction_(std::move(reduction)), table_(reduction_.rows) {}

  void open(OperatorContext& /*context*/, std::vector<RecordReceiver*> outputs) override {
    to_ = outputs.at(0);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const T& value = *static_cast<const T*>(record);
    const K& key = reduction_.selector->key(value, key_);
    add(key, table_.hash(key), {}, value, timestamp);
  }

  void process_batch(uint32_t /*input*/, RecordBatch& batch) override {
    LookAhead ahead;
    uint32_t count = 0;
    try {
      for (; count < batch.count; count++) look_ahead(batch, count, ahead);
    } catch (...) {
      add_all(batch, count, ahead);  // Those before the one without key are in order.
      batch.begun = count + 1;
      throw;
    }
    add_all(batch, count, ahead);
  }

  bool finish() override {
    if (reduction_.emit == Emit::updates) return true;
    if (!ending_) {
      keys_ = table_.ordered_keys();
      ending_ = true;
    }
    for (uint32_t i = 0; i < kFinishBatch && next_key_ < keys_.size(); i++) {
      Decoder decoder(keys_[next_key_++]);
      Codec<K>::decode(decoder, key_);
      to_->receive(table_.find(key_), kNoTimestamp);
    }
    return next_key_ == keys_.size();
  }

 private:
  using Table = HeapTable<K, T, Rows>;
  using Hint = typename Table::Hint;

  /// What is known of the records of a batch before the first is processed.
  struct LookAhead {
    std::array<const K*, RecordBatch::kRecordsMax> keys;
    std::array<uint64_t, RecordBatch::kRecordsMax> hashes;
    std::array<Hint, RecordBatch::kRecordsMax> hints;
  };

  static const T& value_of(const RecordBatch& batch, uint32_t index) {
    return *static_cast<const T*>(batch.records[index]);
  }

  void look_ahead(const RecordBatch& batch, uint32_t index, LookAhead& ahead) {
    ahead.keys[index] = &reduction_.selector->key(value_of(batch, index), batch_keys_[index]);
    ahead.hashes[index] = table_.hash(*ahead.keys[index]);
    table_.prefetch_index(ahead.hashes[index]);
  }

  void add_all(RecordBatch& batch, uint32_t count, LookAhead& ahead) {
    for (uint32_t i = 0; i < count; i++) ahead.hints[i] = table_.prefetch_row(ahead.hashes[i]);
    for (uint32_t i = 0; i < count; i++) {
      batch.begun = i + 1;
      add(*ahead.keys[i], ahead.hashes[i], ahead.hints[i], value_of(batch, i), batch.timestamps[i]);
    }
  }

  void add(const K& key, uint64_t hash, Hint hint, const T& value, EpochMillis timestamp) {
    const auto [so_far, inserted] = table_.find_or_insert(key, hash, hint, value);
    if (!inserted) fold(*so_far, value);
    if (reduction_.emit == Emit::updates) to_->receive(so_far, timestamp);
  }

  void fold(T& so_far, const T& value) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, T&, const T&>>) {
      std::invoke(reduction_.function, so_far, value);
    } else {
      so_far = std::invoke(reduction_.function, std::as_const(so_far), value);
    }
  }

  Reduction<K, T, F, Rows> reduction_;
  Table table_;
  K key_{};
  std::array<K, RecordBatch::kRecordsMax> batch_keys_{};
  RecordReceiver* to_ = nullptr;
  KeyOrder keys_;  // Filled when the input has ended.
  size_t next_key_ = 0;
  bool ending_ = false;
};

template <class K, class T, class F, class Rows = KeyBesideValue<K, T>>
std::shared_ptr<const OperatorFactory> make_reduce_factory(Reduction<K, T, F, Rows> reduction) {
  return make_function_factory<ReduceOperator<K, T, F, Rows>>(std::move(reduction));
}

}  // namespace freshet
