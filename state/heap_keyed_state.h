#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/codec.h"
#include "state/heap_table.h"
#include "state/value_state.h"

namespace freshet {

/// The keyed state of one operator in one subtask, on the heap: a table from key to row, and one
/// column per state, so that a record costs one look-up however many states it touches. A key
/// without any value takes no space.
template <class K>
class HeapKeyedState {
 public:
  HeapKeyedState() = default;
  HeapKeyedState(const HeapKeyedState&) = delete;
  HeapKeyedState& operator=(const HeapKeyedState&) = delete;

  /// All states speak of `key` from now on.
  void set_key(const K& key) {
    key_ = key;
    const uint32_t* row = rows_.find(key);
    row_ = row == nullptr ? kNoRow : *row;
  }

  const K& key() const { return key_; }

  /// The state of this name. The same name gives the same state; throws std::invalid_argument when
  /// its type differs.
  template <class V>
  ValueState<V> value(const std::string& name) {
    static_assert(Encodable<V>,
                  "no Codec<V>: specialise freshet::Codec for the type of this state");
    std::unique_ptr<ColumnBase>& column = columns_[name];
    const std::string type = Codec<V>::fingerprint();
    if (column == nullptr) column = std::make_unique<Column<V>>(*this, type);
    if (column->type != type) {
      throw std::invalid_argument("state '" + name + "' is of type " + column->type +
                                  " and cannot be used as " + type);
    }
    return ValueState<V>(static_cast<Column<V>*>(column.get()));
  }

  /// The number of keys that have a value in some state.
  size_t size() const { return rows_.size(); }

  /// Whether the current key has a value in some state.
  bool has_key() const { return row_ != kNoRow; }

  /// Drops all values of the current key.
  void clear_key() {
    for (const auto& [name, column] : columns_) column->clear_value();
  }

  /// Keys that have a value in some state.
  KeyOrder ordered_keys() const { return rows_.ordered_keys(); }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  struct ColumnBase {
    explicit ColumnBase(std::string type_name) : type(std::move(type_name)) {}
    virtual ~ColumnBase() = default;
    virtual void clear_value() = 0;
    const std::string type;
  };

  template <class V>
  struct Column final : ColumnBase, ValueStore<V> {
    Column(HeapKeyedState& state, std::string type_name)
        : ColumnBase(std::move(type_name)), owner(state) {}

    const V* get() override {
      if (owner.row_ >= values.size() || !values[owner.row_]) return nullptr;
      return &*values[owner.row_];
    }

    void set(V value) override {
      const uint32_t row = owner.make_row();
      if (row >= values.size()) values.resize(row + 1);
      if (!values[row]) owner.live_[row]++;
      values[row] = std::move(value);
    }

    void clear_value() override { clear(); }

    void clear() override {
      if (get() == nullptr) return;
      values[owner.row_].reset();
      owner.release_value();
    }

    HeapKeyedState& owner;
    std::vector<std::optional<V>> values;  // By row; may be shorter than there are rows.
  };

  uint32_t make_row() {
    if (row_ != kNoRow) return row_;
    if (free_.empty()) {
      row_ = static_cast<uint32_t>(live_.size());
      live_.push_back(0);
    } else {
      row_ = free_.back();
      free_.pop_back();
    }
    rows_.find_or_insert(key_, row_);
    return row_;
  }

  void release_value() {
    if (--live_[row_] != 0) return;
    rows_.erase(key_);
    free_.push_back(row_);
    row_ = kNoRow;
  }

  K key_{};
  uint32_t row_ = kNoRow;  // Of key_.
  HeapTable<K, uint32_t> rows_;
  std::vector<uint32_t> live_;  // By row: how many columns have a value.
  std::vector<uint32_t> free_;
  std::map<std::string, std::unique_ptr<ColumnBase>> columns_;
};

}  // namespace freshet
