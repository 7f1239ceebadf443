// The part of a stored partition that one reader reads, as a PartitionQueues.
#include <utility>

#include "runtime/base/check.h"
#include "shuffle/partition_queues.h"

namespace freshet {

std::shared_ptr<PartitionQueues> PartitionQueues::view(
    std::shared_ptr<const StoredPartition> stored, const std::shared_ptr<ChannelReader>& reader,
    std::vector<ReaderCall>* calls) {
  const StoredPartition::Name& name = stored->name();
  Options options;
  options.job = name.job;
  options.dataset = name.dataset;
  options.producer = name.producer;
  options.attempt = name.attempt;
  options.fixed_record_size = stored->fixed_record_size();
  const uint32_t subpartition = reader->attachment().subpartition;
  const uint64_t first = reader->attachment().next_element(name.producer);
  if (first != 0) options.start = {{0, first, 0}};
  auto view = std::make_shared<PartitionQueues>(std::move(options));
  Channel* const channel = view->create_channel(0, reader, calls);
  const std::weak_ptr<PartitionQueues> weak = view;
  std::vector<Buffer> at_hand;
  std::unique_ptr<BufferSource> source;
  if (first != 0 || !stored->take_at_hand(subpartition, &at_hand)) {
    source = stored->read(subpartition, first, [weak] {
      if (const auto waiting = weak.lock()) waiting->note_source_ready();
    });
  }
  {
    MutexLock lock(view->mutex_);
    view->ended_ = !source;
    view->waiting_ = at_hand.size();
    for (Buffer& buffer : at_hand) {
      view->waiting_bytes_ += buffer.size;
      channel->buffers.push(std::move(buffer));
    }
    view->source_ = std::move(source);
  }
  view->stored_ = std::move(stored);
  // It is asked for its first buffer, and says then when it has one.
  calls->push_back({ReaderCall::Kind::kReady, reader, view.get(), channel, {}, view});
  return view;
}

void PartitionQueues::refill(Channel* channel) {
  if (!channel->buffers.empty() || ended_ || source_failed_) return;
  Result<std::optional<Buffer>> next = source_->take();
  if (!next.ok()) {
    source_failed_ = true;
    // Not from here, where its reader takes.
    stored_->later([weak = weak_from_this(), cause = next.status()] {
      if (const auto lost = weak.lock()) lost->lose_view(cause);
    });
    return;
  }
  if (*next) {
    waiting_bytes_ += (*next)->size;
    channel->buffers.push(*std::move(*next));
    ++waiting_;
  } else {
    ended_ = source_->ended();
  }
}

void PartitionQueues::note_source_ready() {
  std::vector<ReaderCall> calls;
  {
    MutexLock lock(mutex_);
    Channel* const channel = channels_.find(0);
    if (channel->reader)
      calls.push_back(
          {ReaderCall::Kind::kReady, channel->reader, this, channel, {}, shared_from_this()});
  }
  tell(calls);
}

void PartitionQueues::lose_view(const Status& cause) {
  std::vector<ReaderCall> calls;
  std::vector<Buffer> dropped;
  {
    MutexLock lock(mutex_);
    Channel* const channel = channels_.find(0);
    if (channel->reader) lose_reader(channel, cause, &calls, &dropped);
  }
  tell(calls);
}

void PartitionQueues::close_view() {
  std::vector<Buffer> dropped;
  std::unique_ptr<BufferSource> source;
  clear(&dropped);
  MutexLock lock(mutex_);
  source = std::move(source_);
}

}  // namespace freshet
