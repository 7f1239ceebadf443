#include "state/sorted_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace freshet {

namespace {

constexpr uint64_t kPieceBytes = 512u << 10;  // Of prepare().

size_t fan_in_of(uint64_t memory_bytes) {
  const uint64_t for_reading =
      memory_bytes - std::min(memory_bytes, SpilledBytes::kWriteMemoryBytes);
  return std::clamp<size_t>(for_reading / SpilledBytes::kReadMemoryBytes, 2, SortedRuns::kFanInMax);
}

}  // namespace

SortedRuns::SortedRuns(SpillSpace& space, ValueCombiner* combiner)
    : space_(space), combiner_(combiner), fan_in_(fan_in_of(space.memory_bytes())) {}

Result<bool> SortedRuns::prepare() {
  if (merger_) return true;
  if (pass_ == nullptr && runs_.size() > fan_in_) begin_pass();
  if (pass_ != nullptr) {
    ASSIGN_OR_RETURN(const bool more, merge_some());
    if (!more) RETURN_IF_ERROR(end_pass());
    return false;
  }
  merger_ = std::make_unique<RunMerger>(std::exchange(runs_, {}));
  return true;
}

/// As many as leave a number of runs that full merges bring to one; of those next to each other the
/// ones with the least in them.
void SortedRuns::begin_pass() {
  const size_t too_many = (runs_.size() - fan_in_) % (fan_in_ - 1);
  const size_t count = too_many == 0 ? fan_in_ : too_many + 1;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += runs_[i].size_bytes;
  uint64_t least = bytes;
  size_t first = 0;
  for (size_t i = 1; i + count <= runs_.size(); i++) {
    bytes = bytes - runs_[i - 1].size_bytes + runs_[i + count - 1].size_bytes;
    if (bytes >= least) continue;
    least = bytes;
    first = i;
  }
  const auto begin = runs_.begin() + static_cast<ptrdiff_t>(first);
  const auto end = begin + static_cast<ptrdiff_t>(count);
  std::vector<SortedRun> merged(std::make_move_iterator(begin), std::make_move_iterator(end));
  runs_.erase(begin, end);
  pass_.reset(new Pass{first, RunMerger(std::move(merged)), RunWriter(space_), std::nullopt});
}

Result<bool> SortedRuns::merge_some() {
  for (uint64_t bytes = 0; bytes < kPieceBytes;) {
    ASSIGN_OR_RETURN(const bool more, pass_->from.next());
    if (!more) return false;
    bytes += pass_->from.key().size() + pass_->from.value().size() + sizeof(SortedRun);
    RETURN_IF_ERROR(move_entry());
  }
  return true;
}

Status SortedRuns::move_entry() {
  const RunMerger& from = pass_->from;
  if (combiner_ == nullptr) return pass_->to.add(from.key(), from.value());
  if (pass_->key == from.key()) {
    combiner_->add(from.value());
    return Status();
  }
  RETURN_IF_ERROR(write_combined());
  if (!pass_->key) pass_->key.emplace();
  pass_->key->assign(from.key());
  combiner_->begin(from.value());
  return Status();
}

Status SortedRuns::write_combined() {
  if (!pass_->key) return Status();
  return pass_->to.add(*pass_->key, combiner_->combined());
}

Status SortedRuns::end_pass() {
  RETURN_IF_ERROR(write_combined());
  ASSIGN_OR_RETURN(SortedRun run, pass_->to.finish());
  runs_.insert(runs_.begin() + static_cast<ptrdiff_t>(pass_->at), std::move(run));
  pass_ = nullptr;
  return Status();
}

}  // namespace freshet
