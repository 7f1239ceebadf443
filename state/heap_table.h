#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

struct Hash {
  using is_avalanching = void;
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const { return hash_bytes(bytes); }
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) size_t operator()(T value) const {
    uint64_t h = static_cast<uint64_t>(value) + 0x9E3779B97F4A7C15ull;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
    return h ^ (h >> 31);
  }
};

struct Equal {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a == b;
  }
};

}  // namespace heap_table_detail

/// Values by key on the heap, one flat hash table. The order of the table is never seen: who wants
/// all keys takes ordered_keys().
///
/// References and pointers to values are valid until the next insertion or removal.
template <class K, class V>
class HeapTable {
 public:
  V* find(const K& key) {
    const auto at = with_stored(key, [&](const auto& stored) { return table_.find(stored); });
    return at == table_.end() ? nullptr : &at->second;
  }

  /// The value of `key`; when there is none, a copy of `initial`, and `true`.
  template <class Initial>
  std::pair<V*, bool> find_or_insert(const K& key, const Initial& initial) {
    return with_stored(key, [&](const auto& stored) {
      auto at = table_.find(stored);
      if (at != table_.end()) return std::pair<V*, bool>(&at->second, false);
      at = table_.emplace(Stored(stored), initial).first;
      return std::pair<V*, bool>(&at->second, true);
    });
  }

  /// False when there was none.
  bool erase(const K& key) {
    const auto at = with_stored(key, [&](const auto& stored) { return table_.find(stored); });
    if (at == table_.end()) return false;
    table_.erase(at);
    return true;
  }

  size_t size() const { return table_.size(); }

  /// All present keys, serialised, in the order of their bytes.
  KeyOrder ordered_keys() const {
    KeyOrder order;
    Encoder encoder;
    for (const auto& [stored, value] : table_) {
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
  using Stored = std::conditional_t<kAsValue, K, std::string>;

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

  boost::unordered_flat_map<Stored, V, heap_table_detail::Hash, heap_table_detail::Equal> table_;
  Encoder encoder_;
  char memory_[kAsValue ? 1 : 128];
};

}  // namespace freshet
