#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "shuffle/channel_writer.h"
#include "shuffle/prefetch.h"
#include "shuffle/sparse_array.h"

namespace freshet {

/// Which channels of a partition its flushes look at: those in which something was written since
/// the last one, and those that it cut, once more: in them nothing may have been written since, and
/// then their memory goes back. A channel that keeps its memory, because something of it waits to
/// be taken, is looked at again when that was taken.
///
/// Belongs to the thread of the partition's task.
class FlushLists {
 public:
  FlushLists(const SparseArray<ChannelWriter>& channels, PartitionQueues& queues)
      : channels_(channels), queues_(queues) {}

  /// Something was written into its open block.
  void note_written(ChannelWriter* writer) {
    if (writer->flush_state == FlushState::kWritten) [[likely]]
      return;
    idle_ -= writer->flush_state == FlushState::kIdle;
    writer->flush_state = FlushState::kWritten;
    written_.push_back(writer);
  }

  /// True when flush() has something to do, or may have: something of an idle channel waits.
  bool wants_flush() const { return !written_.empty() || !flushed_.empty() || idle_ != 0; }

  /// Flushes those written to for which `condition(const ChannelWriter&)` holds; `after_each()`
  /// hands over what that closed.
  template <class Condition, class AfterEach>
  void flush(Condition condition, AfterEach after_each);

  /// After all blocks were closed.
  void clear();

  /// How many times flush() looked at a channel.
  uint64_t visits() const { return visits_; }

 private:
  static constexpr size_t kAhead = 8;

  /// True when some became idle.
  bool give_back_unwritten();
  void give_back_drained();
  static void prefetch(const std::vector<ChannelWriter*>& writers, size_t index) {
    if (index < writers.size()) prefetch_bytes(writers[index], sizeof(ChannelWriter));
  }

  const SparseArray<ChannelWriter>& channels_;
  PartitionQueues& queues_;
  std::vector<ChannelWriter*> written_;  // Since the last flush.
  std::vector<ChannelWriter*> flushed_;  // By the last one; some were written to since.
  uint64_t idle_ = 0;                    // Channels with memory that are in neither.
  uint64_t visits_ = 0;
  bool awaits_ = false;  // The queues were asked to say of some when they are drained.
  // Empty but within flush():
  std::vector<ChannelWriter*> looked_at_;
  std::vector<PartitionQueues::Channel*> idle_channels_;
};

template <class Condition, class AfterEach>
void FlushLists::flush(Condition condition, AfterEach after_each) {
  // What was drained before was it perhaps before something else was written.
  if (awaits_) give_back_drained();
  if (!flushed_.empty() && give_back_unwritten()) give_back_drained();
  size_t kept = 0;
  for (size_t i = 0; i < written_.size(); ++i) {
    prefetch(written_, i + kAhead);
    ChannelWriter* const writer = written_[i];
    ++visits_;
    const bool flushed = condition(std::as_const(*writer));
    if (flushed) writer->flush();
    if (!writer->has_block()) {
      writer->flush_state = FlushState::kNothing;
    } else if (flushed) {
      writer->flush_state = FlushState::kFlushed;
      flushed_.push_back(writer);
    } else {
      written_[kept++] = writer;
    }
    after_each();
  }
  written_.resize(kept);
}

}  // namespace freshet
