#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/codec.h"
#include "runtime/base/hash.h"
#include "state/key_order.h"

namespace freshet {

namespace heap_table_detail {

/// Keys whose values are equal exactly when their bytes are. Others (such as 0.0 and -0.0, which
/// are equal but travel to different subtasks) are kept serialised.
template <class K>
inline constexpr bool kComparedAsValue =
    std::is_integral_v<K> || std::is_enum_v<K> || std::is_same_v<K, std::string>;

inline uint64_t hash_of(std::string_view bytes) { return hash_bytes(bytes); }

/// Keys as they are kept: as values, or serialised.
template <class K>
using Stored = std::conditional_t<kComparedAsValue<K>, K, std::string>;

inline bool equal(const std::string& stored, std::string_view bytes) { return stored == bytes; }
inline bool equal(const std::string& stored, const std::string& key) {
  return equal_texts(stored, key);
}
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) bool equal(T stored, T key) {
  return stored == key;
}

template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) uint64_t hash_of(T value) {
  uint64_t h = static_cast<uint64_t>(value) + 0x9E3779B97F4A7C15ull;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  return h ^ (h >> 31);
}

}  // namespace heap_table_detail

/// Rows of a HeapTable in which keys stand beside the values.
template <class K, class V>
struct KeyBesideValue {
  using Stored = heap_table_detail::Stored<K>;
  struct Row {
    Stored key{};
    V value{};
  };

  const Stored& key_of(const Row& row) const { return row.key; }
  template <class Key>
  void set_key(Row& row, const Key& key) const {
    row.key = Stored(key);
  }
};

/// Rows of a HeapTable whose values hold their keys, in a field that stays as it is. For keys that
/// are compared as values.
template <class K, class V>
struct KeyInsideValue {
  using Stored = K;
  struct Row {
    V value{};
  };

  const K& key_of(const Row& row) const { return row.value.*field; }
  void set_key(Row& /*row*/, const K& /*key*/) const {}

  K V::*field;
};

/// Values by key on the heap: an index of 8 bytes per slot, and rows that stay where they are. The
/// order of the table is never seen: who wants all keys takes ordered_keys().
///
/// Tables that are larger than the caches cost a wait for memory per look-up, unless it is asked
/// for ahead: hash() of a few keys, then prefetch_index(), then prefetch_row(), then the look-ups
/// with the same hashes and hints.
///
/// References and pointers to a value are valid until it is erased.
template <class K, class V, class Rows = KeyBesideValue<K, V>>
class HeapTable {
 public:
  /// Where the row of a key may be; until a key is erased.
  struct Hint {
    uint32_t row = UINT32_MAX;
  };

  explicit HeapTable(Rows rows = Rows()) : rows_(rows) {}

  uint64_t hash(const K& key) {
    return with_stored(key, [](const auto& stored) { return heap_table_detail::hash_of(stored); });
  }

  [[gnu::always_inline]] void prefetch_index(uint64_t hash) const {
    if (!index_.empty()) __builtin_prefetch(&index_[home_of(tag_of(hash))]);
  }

  Hint prefetch_row(uint64_t hash) const {
    const size_t at = find_tag(tag_of(hash));
    if (at == kNowhere) return {};
    constexpr size_t kBytes = std::min(sizeof(Row), kPrefetchedBytes);
    const char* row = reinterpret_cast<const char*>(&row_at(index_[at].row));
    for (size_t offset = 0; offset < kBytes; offset += kLineBytes)
      __builtin_prefetch(row + offset, 1);
    __builtin_prefetch(row + kBytes - 1, 1);  // A row may begin anywhere in a line.
    return {index_[at].row};
  }

  V* find(const K& key) { return find(key, hash(key)); }
  V* find(const K& key, uint64_t hash) {
    return with_stored(key, [&](const auto& stored) {
      const size_t at = find_slot(stored, tag_of(hash));
      return at == kNowhere ? nullptr : &row_at(index_[at].row).value;
    });
  }

  /// The value of `key`; when there is none, a copy of `initial`, and `true`.
  template <class Initial>
  std::pair<V*, bool> find_or_insert(const K& key, const Initial& initial) {
    return find_or_insert(key, hash(key), Hint(), initial);
  }
  template <class Initial>
  std::pair<V*, bool> find_or_insert(const K& key, uint64_t hash, Hint hint,
                                     const Initial& initial) {
    return with_stored(key, [&](const auto& stored) {
      if (hint.row != kNoRow) [[likely]] {
        Row& row = row_at(hint.row);
        if (heap_table_detail::equal(rows_.key_of(row), stored)) [[likely]]
          return std::pair<V*, bool>(&row.value, false);
      }
      return look_up_or_insert(stored, tag_of(hash), initial);
    });
  }

  /// False when there was none.
  bool erase(const K& key) {
    const uint32_t tag = tag_of(hash(key));
    const size_t at = with_stored(key, [&](const auto& stored) { return find_slot(stored, tag); });
    if (at == kNowhere) return false;
    row_at(index_[at].row) = Row();
    free_.push_back(index_[at].row);
    remove_from_index(at);
    --size_;
    return true;
  }

  size_t size() const { return size_; }

  /// Memory per row, with its part of the index; without what keys and values have elsewhere.
  static constexpr size_t bytes_per_row() { return sizeof(Row) + 4 * sizeof(Slot); }

  /// The value of a row that ordered_keys() names. When nothing was erased, rows are numbered in
  /// the order in which their keys came.
  V& value_of(uint32_t row) { return row_at(row).value; }
  const V& value_of(uint32_t row) const { return row_at(row).value; }

  /// Of a row as above.
  void key_of(uint32_t row, K& key) const {
    const auto& stored = rows_.key_of(row_at(row));
    if constexpr (kAsValue) {
      key = stored;
    } else {
      Decoder decoder(stored);
      Codec<K>::decode(decoder, key);
    }
  }

  /// Drops everything, memory too.
  void clear() {
    std::exchange(index_, std::vector<Slot>());
    std::exchange(chunks_, std::vector<std::unique_ptr<Chunk>>());
    std::exchange(free_, std::vector<uint32_t>());
    rows_taken_ = 0;
    size_ = 0;
  }

  /// All present keys, serialised, in the order of their bytes.
  KeyOrder ordered_keys() const {
    KeyOrder order;
    Encoder encoder;
    for (const Slot& slot : index_) {
      if (slot.row == kNoRow) continue;
      const auto& stored = rows_.key_of(row_at(slot.row));
      if constexpr (kAsValue) {
        encoder.start(nullptr, nullptr);
        Codec<K>::encode(stored, encoder);
        order.add(encoder.bytes(), slot.row);
      } else {
        order.add(stored, slot.row);
      }
    }
    order.sort();
    return order;
  }

 private:
  static constexpr bool kAsValue = heap_table_detail::kComparedAsValue<K>;
  static constexpr uint32_t kNoRow = UINT32_MAX;
  static constexpr size_t kNowhere = SIZE_MAX;
  static constexpr size_t kRowsPerChunk = 32;
  static constexpr size_t kFirstSlots = 16;
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kPrefetchedBytes = 4 * kLineBytes;
  using Row = typename Rows::Row;

  /// The high half of the hash, whose highest bits say where the slot would be if it were alone.
  struct Slot {
    uint32_t tag = 0;
    uint32_t row = kNoRow;
  };
  using Chunk = std::array<Row, kRowsPerChunk>;

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  size_t home_of(uint32_t tag) const { return tag >> shift_; }
  size_t after(size_t at) const { return (at + 1) & (index_.size() - 1); }
  Row& row_at(uint32_t row) const { return (*chunks_[row / kRowsPerChunk])[row % kRowsPerChunk]; }

  /// The first slot with the tag.
  size_t find_tag(uint32_t tag) const {
    if (index_.empty()) return kNowhere;
    for (size_t at = home_of(tag); index_[at].row != kNoRow; at = after(at)) {
      if (index_[at].tag == tag) return at;
    }
    return kNowhere;
  }

  template <class S>
  size_t find_slot(const S& stored, uint32_t tag) const {
    if (index_.empty()) return kNowhere;
    for (size_t at = home_of(tag); index_[at].row != kNoRow; at = after(at)) {
      if (index_[at].tag == tag &&
          heap_table_detail::equal(rows_.key_of(row_at(index_[at].row)), stored))
        return at;
    }
    return kNowhere;
  }

  template <class S, class Initial>
  [[gnu::noinline]] std::pair<V*, bool> look_up_or_insert(const S& stored, uint32_t tag,
                                                          const Initial& initial) {
    const size_t at = find_slot(stored, tag);
    if (at != kNowhere) return {&row_at(index_[at].row).value, false};
    const uint32_t row = take_row();
    row_at(row).value = initial;
    rows_.set_key(row_at(row), stored);
    add_to_index({tag, row});
    return {&row_at(row).value, true};
  }

  uint32_t take_row() {
    ++size_;
    if (!free_.empty()) {
      const uint32_t row = free_.back();
      free_.pop_back();
      return row;
    }
    CHECK(rows_taken_ < kNoRow);
    if (rows_taken_ % kRowsPerChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
    return rows_taken_++;
  }

  void add_to_index(Slot slot) {
    if (size_ * 3 > index_.size() * 2) grow();
    place(slot);
  }

  void place(Slot slot) {
    size_t at = home_of(slot.tag);
    while (index_[at].row != kNoRow) at = after(at);
    index_[at] = slot;
  }

  void grow() {
    const size_t slots = index_.empty() ? kFirstSlots : index_.size() * 2;
    const std::vector<Slot> before = std::exchange(index_, std::vector<Slot>(slots));
    shift_ = 32 - std::countr_zero(slots);
    for (const Slot& slot : before) {
      if (slot.row != kNoRow) place(slot);
    }
  }

  /// Moves up those behind that would otherwise not be found any more.
  void remove_from_index(size_t hole) {
    for (size_t at = after(hole); index_[at].row != kNoRow; at = after(at)) {
      const size_t mask = index_.size() - 1;
      const size_t way = (at - home_of(index_[at].tag)) & mask;
      if (way < ((at - hole) & mask)) continue;
      index_[hole] = index_[at];
      hole = at;
    }
    index_[hole] = Slot();
  }

  template <class Use>
  auto with_stored(const K& key, Use&& use) {
    if constexpr (kAsValue) {
      return use(key);
    } else {
      encoder_.start(memory_, memory_ + sizeof(memory_));
      Codec<K>::encode(key, encoder_);
      return use(encoder_.bytes());
    }
  }

  [[no_unique_address]] Rows rows_;
  std::vector<Slot> index_;  // A power of two, at most two thirds in use.
  int shift_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<uint32_t> free_;  // Rows.
  uint32_t rows_taken_ = 0;     // At the same time, at most.
  size_t size_ = 0;
  Encoder encoder_;
  char memory_[kAsValue ? 1 : 128];
};

}  // namespace freshet
