#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "state/run_file.h"
#include "state/run_merger.h"
#include "state/spill_space.h"

namespace freshet {

/// Makes one value of those of a key, while runs are merged into longer ones.
class ValueCombiner {
 public:
  virtual ~ValueCombiner() = default;
  /// The first of a key, then those behind it, then what all make together: valid until the next
  /// call. Values are as they were written.
  virtual void begin(std::string_view value) = 0;
  virtual void add(std::string_view value) = 0;
  virtual std::string_view combined() = 0;
};

/// Runs that are merged when all are there. Not more are read at once than there is memory for: of
/// too many, neighbours are merged into longer ones before. Equal keys keep the order of their
/// runs.
class SortedRuns {
 public:
  static constexpr size_t kFanInMax = 128;

  /// `combiner` null: every value stays.
  explicit SortedRuns(SpillSpace& space, ValueCombiner* combiner = nullptr);

  void add(SortedRun run) { runs_.push_back(std::move(run)); }

  /// After the last add(). Does a piece of work; true when next() may be called.
  Result<bool> prepare();

  /// Goes to the next entry, or the first; false when there is none. Keys may come several times,
  /// also with a combiner.
  Result<bool> next() { return merger_->next(); }
  std::string_view key() const { return merger_->key(); }
  std::string_view value() const { return merger_->value(); }

 private:
  /// Of neighbours into one.
  struct Pass {
    size_t at;
    RunMerger from;
    RunWriter to;
    std::optional<std::string> key;  // That is being combined.
  };

  void begin_pass();
  Result<bool> merge_some();
  Status move_entry();
  Status write_combined();
  Status end_pass();

  SpillSpace& space_;
  ValueCombiner* const combiner_;
  const size_t fan_in_;
  std::vector<SortedRun> runs_;
  std::unique_ptr<Pass> pass_;
  std::unique_ptr<RunMerger> merger_;  // Of all that is left.
};

}  // namespace freshet
