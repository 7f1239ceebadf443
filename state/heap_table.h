#pragma once

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

template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) uint64_t hash_of(T value) {
  uint64_t h = static_cast<uint64_t>(value) + 0x9E3779B97F4A7C15ull;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  return h ^ (h >> 31);
}

}  // namespace heap_table_detail

/// Values by key on the heap: an index of 8 bytes per slot, and rows that stay where they are. The
/// order of the table is never seen: who wants all keys takes ordered_keys().
///
/// Tables that are larger than the caches cost a wait for memory per look-up, unless it is asked
/// for ahead: hash() of a few keys, then prefetch_index(), then prefetch_row(), then the look-ups
/// with the same hashes.
///
/// References and pointers to a value are valid until it is erased.
template <class K, class V>
class HeapTable {
 public:
  uint64_t hash(const K& key) {
    return with_stored(key, [](const auto& stored) { return heap_table_detail::hash_of(stored); });
  }

  void prefetch_index(uint64_t hash) const {
    if (!index_.empty()) __builtin_prefetch(&index_[home_of(tag_of(hash))]);
  }

  void prefetch_row(uint64_t hash) const {
    const size_t at = find_tag(tag_of(hash));
    if (at == kNowhere) return;
    const char* row = reinterpret_cast<const char*>(&row_at(index_[at].row));
    for (size_t offset = 0; offset < sizeof(Row) && offset < kPrefetchedBytes; offset += kLineBytes)
      __builtin_prefetch(row + offset, 1);
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
    return find_or_insert(key, hash(key), initial);
  }
  template <class Initial>
  std::pair<V*, bool> find_or_insert(const K& key, uint64_t hash, const Initial& initial) {
    return with_stored(key, [&](const auto& stored) {
      const size_t at = find_slot(stored, tag_of(hash));
      if (at != kNowhere) return std::pair<V*, bool>(&row_at(index_[at].row).value, false);
      const uint32_t row = take_row();
      row_at(row).key = Stored(stored);
      row_at(row).value = initial;
      add_to_index({tag_of(hash), row});
      return std::pair<V*, bool>(&row_at(row).value, true);
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

  /// All present keys, serialised, in the order of their bytes.
  KeyOrder ordered_keys() const {
    KeyOrder order;
    Encoder encoder;
    for (const Slot& slot : index_) {
      if (slot.row == kNoRow) continue;
      const Stored& stored = row_at(slot.row).key;
      if constexpr (kAsValue) {
        encoder.start(nullptr, nullptr);
        Codec<K>::encode(stored, encoder);
        order.add(encoder.bytes());
      } else {
        order.add(stored);
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
  using Stored = std::conditional_t<kAsValue, K, std::string>;

  struct Row {
    Stored key{};
    V value{};
  };
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
      if (index_[at].tag == tag && row_at(index_[at].row).key == stored) return at;
    }
    return kNowhere;
  }

  uint32_t take_row() {
    ++size_;
    if (!free_.empty()) {
      const uint32_t row = free_.back();
      free_.pop_back();
      return row;
    }
    CHECK(rows_ < kNoRow);
    if (rows_ % kRowsPerChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
    return rows_++;
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

  std::vector<Slot> index_;  // A power of two, at most two thirds in use.
  int shift_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<uint32_t> free_;  // Rows.
  uint32_t rows_ = 0;           // Ever taken at the same time.
  size_t size_ = 0;
  Encoder encoder_;
  char memory_[kAsValue ? 1 : 128];
};

}  // namespace freshet
