#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/base/status.h"
#include "state/sorted_runs.h"
#include "state/spill_space.h"

namespace freshet {

/// Puts entries into the order of the bytes of their keys; equal ones stay in the order in which
/// they came. What does not fit into memory becomes sorted runs on disk.
///
/// Entries are copied to the front of one piece of memory, an item of 16 bytes for each is put at
/// its back: items with the first bytes of keys as a number are sorted, entries stay where they
/// are.
class ExternalSorter {
 public:
  /// Takes memory when the first entry comes. `space` outlives it.
  explicit ExternalSorter(SpillSpace& space);

  Status add(std::string_view key, std::string_view value);

  /// After the last add(). Does a piece of work; true when next() may be called.
  Result<bool> prepare();

  /// Goes to the next entry, or the first; false when there is none.
  Result<bool> next();

  // Of the entry; valid until the next call of next().
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

  /// How many runs were written, before any were merged.
  uint64_t spilled_runs() const { return spilled_runs_; }

 private:
  struct Item {
    uint64_t prefix;
    uint64_t offset;
  };
  struct EntryHeader {
    uint32_t key_size;
    uint32_t value_size;
  };

  std::string_view key_at(uint64_t offset) const;
  std::string_view value_at(uint64_t offset) const;
  Item* items_begin() const;
  Item* items_end() const;
  bool before(const Item& a, const Item& b) const;
  void make_memory();
  void sort();
  Status spill();
  Status spill_alone(std::string_view key, std::string_view value);

  SortedRuns runs_;
  SpillSpace& space_;
  const uint64_t memory_bytes_;     // For entries and items.
  std::unique_ptr<char[]> memory_;  // Not touched before it is used.
  uint64_t used_bytes_ = 0;         // From the front.
  uint64_t items_ = 0;              // From the back.
  uint64_t spilled_runs_ = 0;
  bool sorted_ = false;     // All is in memory.
  uint64_t next_item_ = 0;  // From there.
  std::string_view key_;
  std::string_view value_;
};

}  // namespace freshet
