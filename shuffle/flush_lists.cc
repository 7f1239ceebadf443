#include "shuffle/flush_lists.h"

namespace freshet {

bool FlushLists::give_back_unwritten() {
  looked_at_.swap(flushed_);
  for (size_t i = 0; i < looked_at_.size(); ++i) {
    prefetch(looked_at_, i + kAhead);
    ChannelWriter* const writer = looked_at_[i];
    ++visits_;
    if (writer->flush_state != FlushState::kFlushed) continue;
    if (writer->may_close_unwritten()) {
      writer->close();
      writer->flush_state = FlushState::kNothing;
    } else if (writer->is_for_all()) {
      flushed_.push_back(writer);  // The only one, and in many queues.
    } else {
      writer->flush_state = FlushState::kIdle;
      ++idle_;
      idle_channels_.push_back(writer->queue());
    }
  }
  looked_at_.clear();
  if (idle_channels_.empty()) return false;
  queues_.await_drained(idle_channels_);
  idle_channels_.clear();
  return awaits_ = true;
}

void FlushLists::give_back_drained() {
  queues_.take_drained(&idle_channels_);
  for (const PartitionQueues::Channel* channel : idle_channels_) {
    ChannelWriter* const writer = channels_.find(channel->subpartition);
    ++visits_;
    if (writer->flush_state != FlushState::kIdle) continue;
    writer->close();
    writer->flush_state = FlushState::kNothing;
    --idle_;
  }
  idle_channels_.clear();
}

void FlushLists::clear() {
  channels_.for_each(
      [](uint32_t, ChannelWriter& writer) { writer.flush_state = FlushState::kNothing; });
  written_.clear();
  flushed_.clear();
  idle_ = 0;
}

}  // namespace freshet
