#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/hash_128.h"

namespace freshet::chaos {

/// How often each record was seen on two sides, by the hash of the record. Takes 32 bytes for each
/// different record, of which at least an eighth is never filled.
class RecordCounts {
 public:
  struct Entry {
    Hash128 hash;
    uint64_t id = 0;  // Hash of the record's id; those of one id are compared.
    uint32_t expected = 0;
    uint32_t actual = 0;  // Both 0: the place is free.

    bool is_free() const { return expected == 0 && actual == 0; }
  };

  /// Null when there is none.
  Entry* find(const Hash128& hash);
  /// Its entry, made when there is none; it must be counted at once.
  Entry& at(const Hash128& hash, uint64_t id);

  size_t size() const { return size_; }
  void clear();

  /// Keeps only the entries for which `keep` is true.
  template <class Keep>
  void retain(Keep keep) {
    std::vector<Entry> kept;
    for (const Entry& entry : places_) {
      if (!entry.is_free() && keep(entry)) kept.push_back(entry);
    }
    std::fill(places_.begin(), places_.end(), Entry());
    size_ = 0;
    for (const Entry& entry : kept) put(entry);
  }

  template <class Use>
  void for_each(Use use) {
    for (Entry& entry : places_) {
      if (!entry.is_free()) use(entry);
    }
  }

 private:
  size_t place_of(const Hash128& hash) const;
  void put(const Entry&);
  void grow();

  std::vector<Entry> places_;  // A power of two.
  size_t size_ = 0;
};

/// Some of all keys of 64 bits: those that begin with the same bits.
struct KeyPart {
  uint64_t prefix = 0;
  uint32_t bits = 0;

  bool has(uint64_t key) const { return bits == 0 || key >> (64 - bits) == prefix; }
  /// Its first half; none when it is a single key.
  std::optional<KeyPart> first_half() const;
  /// The largest part behind it that does not reach back; none when it is the last one.
  std::optional<KeyPart> next() const;
};

}  // namespace freshet::chaos
