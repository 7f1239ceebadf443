#pragma once

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
template <class K, class T, class F>
struct Reduction {
  std::shared_ptr<const KeySelector<K, T>> selector;
  F function;
  Emit emit = Emit::updates;
};

/// Folds the records of each key into one; the first is taken as it is.
template <class K, class T, class F>
class ReduceOperator final : public Operator {
 public:
  explicit ReduceOperator(Reduction<K, T, F> reduction) : reduction_(std::move(reduction)) {}

  void open(OperatorContext& /*context*/, std::vector<RecordReceiver*> outputs) override {
    to_ = outputs.at(0);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const T& value = *static_cast<const T*>(record);
    const auto [so_far, inserted] =
        table_.find_or_insert(reduction_.selector->key(value, key_), value);
    if (!inserted) fold(*so_far, value);
    if (reduction_.emit == Emit::updates) to_->receive(so_far, timestamp);
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
  void fold(T& so_far, const T& value) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, T&, const T&>>) {
      std::invoke(reduction_.function, so_far, value);
    } else {
      so_far = std::invoke(reduction_.function, std::as_const(so_far), value);
    }
  }

  Reduction<K, T, F> reduction_;
  HeapTable<K, T> table_;
  K key_{};
  RecordReceiver* to_ = nullptr;
  KeyOrder keys_;  // Filled when the input has ended.
  size_t next_key_ = 0;
  bool ending_ = false;
};

template <class K, class T, class F>
std::shared_ptr<const OperatorFactory> make_reduce_factory(Reduction<K, T, F> reduction) {
  return make_function_factory<ReduceOperator<K, T, F>>(std::move(reduction));
}

}  // namespace freshet
