#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "state/run_file.h"

namespace freshet {

/// Merges runs: the entries of all in the order of the bytes of their keys, of equal ones in the
/// order of their runs. A tree of losers: one comparison per level and entry.
class RunMerger {
 public:
  explicit RunMerger(std::vector<SortedRun> runs);

  /// Goes to the next entry, or the first; false when there is none.
  Result<bool> next();

  // Of the entry; valid until the next call of next().
  std::string_view key() const { return sources_[winner_].reader.key(); }
  std::string_view value() const { return sources_[winner_].reader.value(); }

 private:
  struct Source {
    explicit Source(SortedRun run) : reader(std::move(run)) {}
    RunReader reader;
    uint64_t prefix = 0;
    bool ended = false;
  };

  Status advance(Source&);
  bool before(uint32_t a, uint32_t b) const;
  Status build();
  void replay(uint32_t source);

  std::vector<Source> sources_;
  std::vector<uint32_t> losers_;  // By inner node, from 1; its children are 2n and 2n + 1.
  uint32_t winner_ = 0;
  bool begun_ = false;
};

}  // namespace freshet
