#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/collector.h"
#include "runtime/operators/emit.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/key_selector.h"
#include "runtime/operators/operator.h"
#include "state/heap_keyed_state.h"

namespace freshet {

/// What a keyed function may use. Belongs to the task's thread.
template <class K>
class KeyedContext {
 public:
  KeyedContext(OperatorContext& context, HeapKeyedState<K>& state)
      : context_(context), state_(state) {}

  const K& key() const { return state_.key(); }

  /// Of the record that is being processed, or kNoTimestamp.
  EpochMillis timestamp() const { return timestamp_; }

  /// Wall-clock time; changes only between records.
  EpochMillis processing_time() const { return context_.processing_time(); }

  /// One value per key. Ask in open() and keep the handle: it always speaks of the current key.
  template <class V>
  ValueState<V> value_state(const std::string& name) {
    return state_.template value<V>(name);
  }

  uint32_t subtask() const { return context_.subtask(); }
  uint32_t parallelism() const { return context_.parallelism(); }

  /// For the operator.
  void set_timestamp(EpochMillis timestamp) { timestamp_ = timestamp; }

 private:
  OperatorContext& context_;
  HeapKeyedState<K>& state_;
  EpochMillis timestamp_ = kNoTimestamp;
};

/// User code with state for each key. Each subtask has its own copy of the object.
template <class K, class T, class U>
class KeyedProcessFunction {
 public:
  virtual ~KeyedProcessFunction() = default;

  /// Before the first record.
  virtual void open(KeyedContext<K>& /*context*/) {}

  virtual void process(const T& record, KeyedContext<K>& context, Collector<U>& out) = 0;

  /// At the end of the input, once for each key that has state, in serialised-key order.
  virtual void on_end(KeyedContext<K>& /*context*/, Collector<U>& /*out*/) {}
};

template <class K, class T, class Function>
struct KeyedProcess {
  std::shared_ptr<const KeySelector<K, T>> selector;
  Function function;
};

template <class K, class T, class U, class Function>
class KeyedProcessOperator final : public Operator {
 public:
  explicit KeyedProcessOperator(KeyedProcess<K, T, Function> process)
      : process_(std::move(process)) {}

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    to_ = Collector<U>(outputs.at(0));
    context_ = std::make_unique<KeyedContext<K>>(context, state_);
    process_.function.open(*context_);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const T& value = *static_cast<const T*>(record);
    state_.set_key(process_.selector->key(value, key_));
    context_->set_timestamp(timestamp);
    to_.set_timestamp(timestamp);
    process_.function.process(value, *context_, to_);
  }

  bool finish() override {
    if (!ending_) {
      keys_ = state_.ordered_keys();
      ending_ = true;
      context_->set_timestamp(kNoTimestamp);
      to_.set_timestamp(kNoTimestamp);
    }
    for (uint32_t i = 0; i < kFinishBatch && next_key_ < keys_.size(); i++) {
      Decoder decoder(keys_[next_key_++]);
      Codec<K>::decode(decoder, key_);
      state_.set_key(key_);
      process_.function.on_end(*context_, to_);
    }
    return next_key_ == keys_.size();
  }

 private:
  KeyedProcess<K, T, Function> process_;
  HeapKeyedState<K> state_;
  std::unique_ptr<KeyedContext<K>> context_;
  K key_{};
  Collector<U> to_;
  KeyOrder keys_;  // Filled when the input has ended.
  size_t next_key_ = 0;
  bool ending_ = false;
};

}  // namespace freshet
