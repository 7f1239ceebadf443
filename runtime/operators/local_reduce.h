#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/operators/emit.h"
#include "runtime/operators/fold_table.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/key_selector.h"
#include "runtime/operators/operator.h"
#include "runtime/operators/partial.h"

namespace freshet {

/// What is made before an exchange by key for a reduce behind it. `Out` is what is given on: T
/// where its key stays as it is, else Partial<K, T>.
template <class K, class T, class F, class Rows, class Out>
struct LocalReduction {
  std::shared_ptr<const KeySelector<K, T>> selector;
  F function;
  Rows rows{};
};

/// Folds records of one key that come while there is memory for what they make, and gives on one
/// for all of them: when the memory is full, and at the end, in the order in which their keys came.
/// When that does not make them fewer it lets records pass for a while, and then tries again.
template <class K, class T, class F, class Rows, class Out>
class LocalReduceOperator final : public Operator {
 public:
  using Made = LocalReduction<K, T, F, Rows, Out>;

  explicit LocalReduceOperator(Made reduction)
      : reduction_(std::move(reduction)),
        field_(reduction_.selector->field()),
        table_(reduction_.function, reduction_.rows) {
    table_.count_bytes();
  }

  static bool uses_spill_space(const Made& /*reduction*/) { return true; }

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    to_ = outputs.at(0);
    const SpillSpace* const space = context.spill_space();
    bytes_max_ = space == nullptr ? SpillSpace::kLeastMemoryBytes : space->memory_bytes();
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis /*timestamp*/) override {
    const T& value = *static_cast<const T*>(record);
    if (passing_ != 0) [[unlikely]] {
      pass(value);
      return;
    }
    if constexpr (kWaits) {
      if (table_.table().size() >= kRowsInCaches) {
        wait(value);
        return;
      }
    }
    const K& key = key_of(value, key_);
    table_.add(key, table_.table().hash(key), {}, value);
    end_some(1);
  }

  bool finish() override {
    add_waiting();
    auto& rows = table_.table();
    for (uint32_t i = 0; i < kFinishBatch && next_row_ < rows.size(); i++) give(next_row_++);
    return next_row_ == rows.size();
  }

 private:
  using Folds = FoldTable<K, T, F, Rows>;

  static constexpr uint32_t kWaitingMax = 32;
  static constexpr size_t kRowsInCaches = 4096;
  /// Small records wait for others, so that memory can be asked for all of their rows at once.
  static constexpr bool kWaits = sizeof(T) <= 64;
  /// After how many times as many as it looked at it tries again.
  static constexpr uint64_t kPassingTimes = 16;

  const K& key_of(const T& value, K& memory) const {
    if constexpr (std::is_class_v<T>) {
      if (field_ != nullptr) return value.*field_;
    }
    return reduction_.selector->key(value, memory);
  }

  void wait(const T& value) {
    waiting_[waiting_count_] = value;
    const K& key = key_of(waiting_[waiting_count_], waiting_keys_[waiting_count_]);
    ahead_.note(table_.table(), waiting_count_, key);
    if (++waiting_count_ == kWaitingMax) add_waiting();
  }

  void add_waiting() {
    const uint32_t count = std::exchange(waiting_count_, 0);
    ahead_.prefetch(table_.table(), count);
    for (uint32_t i = 0; i < count; i++)
      table_.add(ahead_.key(i), ahead_.hash(i), ahead_.hint(i), waiting_[i]);
    end_some(count);
  }

  void end_some(uint64_t records) {
    records_ += records;
    if (table_.bytes() > bytes_max_) [[unlikely]]
      empty();
  }

  [[gnu::noinline]] void empty() {
    const size_t rows = table_.table().size();
    for (uint32_t row = 0; row < rows; row++) give(row);
    // Worth it when at least a third of the records went.
    if (2 * records_ < 3 * rows) passing_ = kPassingTimes * records_;
    records_ = 0;
    table_.clear();
  }

  void give(uint32_t row) {
    const T& value = table_.table().value_of(row);
    if constexpr (std::is_same_v<Out, T>) {
      to_->receive(&value, kNoTimestamp);
    } else {
      table_.table().key_of(row, out_.key);
      out_.value = value;
      to_->receive(&out_, kNoTimestamp);
    }
  }

  [[gnu::noinline]] void pass(const T& value) {
    --passing_;
    if constexpr (std::is_same_v<Out, T>) {
      to_->receive(&value, kNoTimestamp);
    } else {
      out_.key = key_of(value, key_);
      out_.value = value;
      to_->receive(&out_, kNoTimestamp);
    }
  }

  Made reduction_;
  const KeyField<K, T> field_;
  Folds table_;
  uint64_t bytes_max_ = 0;
  uint64_t records_ = 0;  // That the table has taken.
  uint64_t passing_ = 0;  // That are not looked at.
  K key_{};
  std::array<T, kWaits ? kWaitingMax : 0> waiting_{};
  std::array<K, kWaits ? kWaitingMax : 0> waiting_keys_{};
  KeyLookAhead<K, typename Folds::Table> ahead_;
  uint32_t waiting_count_ = 0;
  Out out_{};
  RecordReceiver* to_ = nullptr;
  uint32_t next_row_ = 0;  // At the end.
};

template <class K, class T, class F, class Rows, class Out>
std::shared_ptr<const OperatorFactory> make_local_reduce_factory(
    LocalReduction<K, T, F, Rows, Out> reduction) {
  return make_function_factory<LocalReduceOperator<K, T, F, Rows, Out>>(std::move(reduction));
}

}  // namespace freshet
