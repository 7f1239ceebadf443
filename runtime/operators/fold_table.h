#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "runtime/operators/edge_type.h"
#include "state/heap_bytes.h"
#include "state/heap_table.h"

namespace freshet {

/// What a fold does for one value more: `T(const T& so_far, const T& value)`, or
/// `void(T& so_far, const T& value)`.
template <class F, class T>
void fold_value(F& function, T& so_far, const T& value) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, T&, const T&>>) {
    std::invoke(function, so_far, value);
  } else {
    so_far = std::invoke(function, std::as_const(so_far), value);
  }
}

/// A function that changes no memory outside of the value says `kSameHeapBytes`.
template <class F>
concept KeepsHeapBytes = F::kSameHeapBytes;

/// One value for each key, into which further ones are folded, and about how much memory all take,
/// with what it takes to put their keys into order.
template <class K, class T, class F, class Rows>
class FoldTable {
 public:
  using Table = HeapTable<K, T, Rows>;
  using Hint = typename Table::Hint;

  FoldTable(F function, Rows rows) : function_(std::move(function)), table_(rows) {}

  Table& table() { return table_; }

  /// Memory is counted from now on.
  void count_bytes() { counts_bytes_ = true; }
  uint64_t bytes() const {
    return heap_bytes_ + table_.size() * (Table::bytes_per_row() + KeyOrder::kBytesPerKey);
  }

  /// The value of the key with this one.
  T* add(const K& key, uint64_t hash, Hint hint, const T& value) {
    const auto [so_far, inserted] = table_.find_or_insert(key, hash, hint, value);
    if (inserted) {
      if (counts_bytes_) heap_bytes_ += key_bytes(key) + heap_bytes(*so_far);
    } else if constexpr (kNoHeapBytes<T> || KeepsHeapBytes<F>) {
      fold_value(function_, *so_far, value);
    } else {
      const size_t before = counts_bytes_ ? heap_bytes(*so_far) : 0;
      fold_value(function_, *so_far, value);
      if (counts_bytes_) heap_bytes_ += heap_bytes(*so_far) - before;
    }
    return so_far;
  }

  void fold(T& so_far, const T& value) { fold_value(function_, so_far, value); }

  void clear() {
    table_.clear();
    heap_bytes_ = 0;
  }

 private:
  /// In the table, and serialised.
  static uint64_t key_bytes(const K& key) {
    if constexpr (std::is_same_v<K, std::string>) {
      return heap_bytes(key) + key.size() + 5;
    } else if constexpr (Codec<K>::kFixedSize != 0) {
      return Codec<K>::kFixedSize + 16;
    } else {
      return 2 * heap_bytes(key) + 64;
    }
  }

  F function_;
  Table table_;
  uint64_t heap_bytes_ = 0;
  bool counts_bytes_ = false;
};

/// What is known of the keys of some records before the first is added to a table.
template <class K, class Table>
class KeyLookAhead {
 public:
  /// `key` lives until the record is added.
  void note(Table& table, uint32_t index, const K& key) {
    keys_[index] = &key;
    hashes_[index] = table.hash(key);
    table.prefetch_index(hashes_[index]);
  }
  /// The first `count` were noted, and the table stays as it is until the last of them was added.
  void prefetch(const Table& table, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) hints_[i] = table.prefetch_row(hashes_[i]);
  }

  const K& key(uint32_t index) const { return *keys_[index]; }
  uint64_t hash(uint32_t index) const { return hashes_[index]; }
  typename Table::Hint hint(uint32_t index) const { return hints_[index]; }

 private:
  std::array<const K*, RecordBatch::kRecordsMax> keys_;
  std::array<uint64_t, RecordBatch::kRecordsMax> hashes_;
  std::array<typename Table::Hint, RecordBatch::kRecordsMax> hints_;
};

}  // namespace freshet
