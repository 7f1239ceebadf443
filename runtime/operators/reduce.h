#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/emit.h"
#include "runtime/operators/fold_table.h"
#include "runtime/operators/function_factory.h"
#include "runtime/operators/key_selector.h"
#include "runtime/operators/operator.h"
#include "runtime/operators/partial.h"
#include "runtime/operators/spill_error.h"
#include "state/sorted_runs.h"

namespace freshet {

/// What a reduce operator is made from. `function` is `T(const T& so_far, const T& record)`, or
/// changes the value in place: `void(T& so_far, const T& record)`.
/// `Rows` says how a HeapTable keeps the keys, `In` is what comes in: T or Partial<K, T>.
template <class K, class T, class F, class Rows = KeyBesideValue<K, T>, class In = T>
struct Reduction {
  std::shared_ptr<const KeySelector<K, In>> selector;
  F function;
  Emit emit = Emit::updates;
  Rows rows{};
};

/// Folds the records of each key into one; the first is taken as it is. Where memory has a bound
/// (OperatorContext::spill_space) the table of what was folded goes to disk each time that it is
/// full, sorted by key; at the end all that is there is merged. So the result and its order are the
/// same whatever the memory is.
template <class K, class T, class F, class Rows = KeyBesideValue<K, T>, class In = T>
class ReduceOperator final : public Operator {
 public:
  using Made = Reduction<K, T, F, Rows, In>;

  explicit ReduceOperator(Made reduction)
      : reduction_(std::move(reduction)),
        table_(reduction_.function, reduction_.rows),
        combiner_(table_) {}

  static bool uses_spill_space(const Made& reduction) { return reduction.emit == Emit::final; }

  void open(OperatorContext& context, std::vector<RecordReceiver*> outputs) override {
    to_ = outputs.at(0);
    space_ = uses_spill_space(reduction_) ? context.spill_space() : nullptr;
    if (space_ == nullptr) return;
    table_.count_bytes();
    bytes_max_ = space_->memory_bytes() - SpilledBytes::kWriteMemoryBytes;
    runs_.emplace(*space_, &combiner_);
  }

  void process(uint32_t /*input*/, const void* record, EpochMillis timestamp) override {
    const In& in = *static_cast<const In*>(record);
    const K& key = reduction_.selector->key(in, key_);
    add(key, table_.table().hash(key), {}, FoldInput<In>::value(in), timestamp);
    if (table_.bytes() > bytes_max_) [[unlikely]]
      spill();
  }

  void process_batch(uint32_t /*input*/, RecordBatch& batch) override {
    LookAhead ahead;
    uint32_t count = 0;
    try {
      for (; count < batch.count; count++) {
        const K& key = reduction_.selector->key(input_of(batch, count), batch_keys_[count]);
        ahead.note(table_.table(), count, key);
      }
    } catch (...) {
      add_all(batch, count, ahead);  // Those before the one without key are in order.
      batch.begun = count + 1;
      throw;
    }
    add_all(batch, count, ahead);
    if (table_.bytes() > bytes_max_) [[unlikely]]
      spill();
  }

  bool finish() override {
    if (reduction_.emit == Emit::updates) return true;
    if (spilled_) return finish_spilled();
    if (!ending_) {
      keys_ = table_.table().ordered_keys();
      ending_ = true;
    }
    for (uint32_t i = 0; i < kFinishBatch && next_key_ < keys_.size(); i++)
      to_->receive(&table_.table().value_of(keys_.row(next_key_++)), kNoTimestamp);
    return next_key_ == keys_.size();
  }

 private:
  using Folds = FoldTable<K, T, F, Rows>;
  using LookAhead = KeyLookAhead<K, typename Folds::Table>;

  /// Of values that were spilled.
  class Combiner final : public ValueCombiner {
   public:
    explicit Combiner(Folds& folds) : folds_(folds) {}
    void begin(std::string_view value) override { decode(value, so_far); }
    void add(std::string_view value) override {
      decode(value, part_);
      folds_.fold(so_far, part_);
    }
    std::string_view combined() override { return encode(so_far); }

    std::string_view encode(const T& value) {
      encoder_.start(nullptr, nullptr);
      Codec<T>::encode(value, encoder_);
      return encoder_.bytes();
    }

    T so_far{};

   private:
    static void decode(std::string_view bytes, T& value) {
      Decoder decoder(bytes);
      Codec<T>::decode(decoder, value);
    }

    Folds& folds_;
    T part_{};
    Encoder encoder_;
  };

  static const In& input_of(const RecordBatch& batch, uint32_t index) {
    return *static_cast<const In*>(batch.records[index]);
  }

  void add_all(RecordBatch& batch, uint32_t count, LookAhead& ahead) {
    ahead.prefetch(table_.table(), count);
    for (uint32_t i = 0; i < count; i++) {
      batch.begun = i + 1;
      add(ahead.key(i), ahead.hash(i), ahead.hint(i), FoldInput<In>::value(input_of(batch, i)),
          batch.timestamps[i]);
    }
  }

  void add(const K& key, uint64_t hash, typename Folds::Hint hint, const T& value,
           EpochMillis timestamp) {
    const T* const so_far = table_.add(key, hash, hint, value);
    if (reduction_.emit == Emit::updates) to_->receive(so_far, timestamp);
  }

  [[gnu::noinline]] void spill() {
    RunWriter writer(*space_);
    const KeyOrder keys = table_.table().ordered_keys();
    for (size_t i = 0; i < keys.size(); i++) {
      const T& value = table_.table().value_of(keys.row(i));
      require_spilled(writer.add(keys[i], combiner_.encode(value)));
    }
    runs_->add(spilled_value(writer.finish()));
    spilled_ = true;
    table_.clear();
  }

  bool finish_spilled() {
    if (!std::exchange(ending_, true) && table_.table().size() != 0) spill();
    if (!spilled_value(runs_->prepare())) return false;
    for (uint32_t emitted = 0; emitted < kFinishBatch;) {
      const bool more = spilled_value(runs_->next());
      if (more && merged_key_ == runs_->key()) {
        combiner_.add(runs_->value());
        continue;
      }
      if (merged_key_) {
        to_->receive(&combiner_.so_far, kNoTimestamp);
        emitted++;
      }
      if (!more) return true;
      if (!merged_key_) merged_key_.emplace();
      merged_key_->assign(runs_->key());
      combiner_.begin(runs_->value());
    }
    return false;
  }

  Made reduction_;
  Folds table_;
  Combiner combiner_;
  SpillSpace* space_ = nullptr;
  uint64_t bytes_max_ = UINT64_MAX;
  std::optional<SortedRuns> runs_;  // With a space.
  bool spilled_ = false;            // Not all is in the table.
  K key_{};
  std::array<K, RecordBatch::kRecordsMax> batch_keys_{};
  RecordReceiver* to_ = nullptr;
  KeyOrder keys_;  // Filled when the input has ended.
  size_t next_key_ = 0;
  std::optional<std::string> merged_key_;  // Of the value that is being merged.
  bool ending_ = false;
};

template <class K, class T, class F, class Rows = KeyBesideValue<K, T>, class In = T>
std::shared_ptr<const OperatorFactory> make_reduce_factory(Reduction<K, T, F, Rows, In> reduction) {
  return make_function_factory<ReduceOperator<K, T, F, Rows, In>>(std::move(reduction));
}

}  // namespace freshet
