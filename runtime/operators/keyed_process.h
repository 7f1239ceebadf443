#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/collector.h"
#include "runtime/operators/emit.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/key_selector.h"
#include "runtime/operators/keyed_sorter.h"
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
///
/// A stream processes records as they come. A batch processes them key by key, in serialised-key
/// order, those of one key by their timestamps, and equal ones as they came; on_end() comes behind
/// the last of its key, and what was remembered of it goes.
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
  using Made = KeyedProcess<K, T, Function>;

  explicit KeyedProcessOperator(Made process) : process_(std::move(process)) {}

  static bool uses_spill_space(const Made& /*process*/) { return true; }

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    to_ = Collector<U>(outputs.at(0));
    if (SpillSpace* const space = context.spill_space()) sorter_.emplace(*space);
    context_ = std::make_unique<KeyedContext<K>>(context, state_);
    process_.function.open(*context_);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const T& value = *static_cast<const T*>(record);
    const K& key = process_.selector->key(value, key_);
    if (sorter_) {
      sorter_->add(key, timestamp, value);
      return;
    }
    state_.set_key(key);
    process_one(value, timestamp);
  }

  bool finish() override {
    if (sorter_) return finish_sorted();
    if (!ending_) {
      keys_ = state_.ordered_keys();
      ending_ = true;
    }
    for (uint32_t i = 0; i < kFinishBatch && next_key_ < keys_.size(); i++) {
      Decoder decoder(keys_[next_key_++]);
      Codec<K>::decode(decoder, key_);
      state_.set_key(key_);
      end_key();
    }
    return next_key_ == keys_.size();
  }

 private:
  void process_one(const T& record, EpochMillis timestamp) {
    context_->set_timestamp(timestamp);
    to_.set_timestamp(timestamp);
    process_.function.process(record, *context_, to_);
  }

  void end_key() {
    context_->set_timestamp(kNoTimestamp);
    to_.set_timestamp(kNoTimestamp);
    process_.function.on_end(*context_, to_);
  }

  /// One key is remembered at a time.
  bool finish_sorted() {
    if (!sorter_->prepare()) return false;
    for (uint32_t i = 0; i < kFinishBatch; i++) {
      const bool more = sorter_->next();
      if (!more || sorter_->is_new_key()) {
        if (state_.has_key()) end_key();
        state_.clear_key();
        if (!more) return true;
        state_.set_key(sorter_->key());
      }
      process_one(sorter_->record(), sorter_->timestamp());
    }
    return false;
  }

  Made process_;
  std::optional<KeyedSorter<K, T>> sorter_;  // In a batch.
  HeapKeyedState<K> state_;
  std::unique_ptr<KeyedContext<K>> context_;
  K key_{};
  Collector<U> to_;
  KeyOrder keys_;  // Filled when the input of a stream has ended.
  size_t next_key_ = 0;
  bool ending_ = false;
};

}  // namespace freshet
