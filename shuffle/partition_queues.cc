#include "shuffle/partition_queues.h"

#include <fmt/format.h>

#include <algorithm>

#include "network/frame.h"
#include "runtime/base/check.h"

namespace freshet {

void tell(const std::vector<ReaderCall>& calls) {
  for (const ReaderCall& call : calls) {
    const uint32_t producer = call.partition->producer();
    switch (call.kind) {
      case ReaderCall::Kind::kReady:
        call.reader->on_ready(call.partition);
        break;
      case ReaderCall::Kind::kEnded:
        call.reader->on_ended(producer);
        break;
      case ReaderCall::Kind::kLost:
        call.reader->on_lost({producer, producer + 1}, call.cause);
        break;
    }
  }
}

PartitionQueues::PartitionQueues(JobId job, DatasetId dataset, uint32_t producer,
                                 AttemptNumber attempt, uint32_t subpartitions)
    : job_(job),
      dataset_(dataset),
      producer_(producer),
      attempt_(attempt),
      subpartitions_(subpartitions),
      channels_(subpartitions) {}

ReaderCall PartitionQueues::call(ReaderCall::Kind kind,
                                 const std::shared_ptr<ChannelReader>& reader, Status cause) {
  return ReaderCall{kind, reader, shared_from_this(), std::move(cause)};
}

uint32_t PartitionQueues::block_limit(const ChannelReader& reader) {
  const uint32_t credit = reader.attachment().credit_bytes;
  if (credit == 0) return kLargeBlockBytes;
  // Two blocks in flight keep a channel busy while credit comes back.
  if (credit >= 2 * kLargeBlockBytes) return kLargeBlockBytes;
  return credit >= 2 * kMediumBlockBytes ? kMediumBlockBytes : kSmallBlockBytes;
}

void PartitionQueues::push(std::vector<Pushed>* pushed, std::vector<ReaderCall>* calls) {
  {
    MutexLock lock(mutex_);
    for (Pushed& item : *pushed) {
      Channel& channel = *item.channel;
      const bool was_empty = channel.buffers.empty();
      const uint32_t charge = item.buffer.charge();
      channel.buffers.push(std::move(item.buffer));
      if (!channel.reader) continue;
      const uint32_t credit = channel.reader->attachment().credit_bytes;
      if (credit != 0 && charge > credit) {
        calls->push_back(
            call(ReaderCall::Kind::kLost, channel.reader,
                 failed_precondition(fmt::format(
                     "a buffer is charged {} bytes, above the credit of {}", charge, credit))));
        channel.reader = nullptr;
      } else if (was_empty) {
        calls->push_back(call(ReaderCall::Kind::kReady, channel.reader));
      }
    }
  }
  pushed->clear();
}

PartitionQueues::Taken PartitionQueues::take(uint32_t subpartition, const ChannelReader* reader,
                                             uint64_t credit_bytes, uint64_t bytes_max,
                                             std::vector<Buffer>* buffers) {
  Taken taken;
  uint64_t bytes = 0;
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  if (channel == nullptr || channel->reader.get() != reader) return taken;
  while (!channel->buffers.empty() && bytes < bytes_max) {
    const Buffer& front = channel->buffers.front();
    const uint32_t charge = front.charge();
    if (taken.charged_bytes + static_cast<uint64_t>(charge) > credit_bytes && charge != 0) break;
    taken.charged_bytes += charge;
    bytes += front.size;
    channel->position = front.first_element + front.elements_started;
    channel->hash = front.hash;
    channel->inside_element = (front.flags & kFrameEndsIncomplete) != 0;
    buffers->push_back(channel->buffers.pop());
  }
  taken.more = !channel->buffers.empty();
  if (taken.more) {
    taken.next_charge = channel->buffers.front().charge();
  } else if (ended_ && !channel->end_told) {
    channel->end_told = true;
    taken.ended = true;
  }
  return taken;
}

PartitionQueues::Channel* PartitionQueues::create_channel(
    uint32_t subpartition, const ChannelPosition& start,
    const std::shared_ptr<ChannelReader>& reader, std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  Channel& channel = channels_.create(subpartition);
  channel.position = start.elements;
  channel.hash = static_cast<uint32_t>(start.hash);
  if (!reader) return &channel;
  if (Status status = refusal(channel, *reader); !status.ok()) {
    calls->push_back(call(ReaderCall::Kind::kLost, reader, std::move(status)));
    return &channel;
  }
  channel.reader = reader;
  channel.block_bytes_max.store(block_limit(*reader), std::memory_order_relaxed);
  return &channel;
}

Status PartitionQueues::refusal(const Channel& channel, const ChannelReader& reader) const {
  const Attachment& attachment = reader.attachment();
  const auto [producer, wanted, hash] = attachment.position(producer_);
  if (channel.position != wanted || channel.inside_element) {
    return failed_precondition(fmt::format(
        "producer {} has given away elements up to {}{}, and {} is asked for", producer_,
        channel.position, channel.inside_element ? " and part of the next" : "", wanted));
  }
  if (hash != 0 && channel.hash != 0 && static_cast<uint32_t>(hash) != channel.hash) {
    return data_loss(
        fmt::format("the {} elements of producer {} that the consumer has are not those it sent: "
                    "their hash differs",
                    wanted, producer));
  }
  if (attachment.credit_bytes != 0 && !channel.buffers.fits(attachment.credit_bytes)) {
    return failed_precondition(fmt::format("producer {} holds buffers above the credit of {} bytes",
                                           producer_, attachment.credit_bytes));
  }
  return Status();
}

void PartitionQueues::attach(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                             std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  if (channel == nullptr) {
    if (ended_) calls->push_back(call(ReaderCall::Kind::kEnded, reader));
    return;
  }
  if (Status status = refusal(*channel, *reader); !status.ok()) {
    calls->push_back(call(ReaderCall::Kind::kLost, reader, std::move(status)));
    return;
  }
  channel->reader = reader;
  channel->block_bytes_max.store(block_limit(*reader), std::memory_order_relaxed);
  channel->end_told = ended_ && channel->buffers.empty();
  if (!channel->buffers.empty()) {
    calls->push_back(call(ReaderCall::Kind::kReady, reader));
  } else if (ended_) {
    calls->push_back(call(ReaderCall::Kind::kEnded, reader));
  }
}

void PartitionQueues::detach(uint32_t subpartition, const ChannelReader* reader) {
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  if (channel == nullptr || channel->reader.get() != reader) return;
  channel->reader = nullptr;
  channel->block_bytes_max.store(kSmallBlockBytes, std::memory_order_relaxed);
}

void PartitionQueues::set_ended() {
  MutexLock lock(mutex_);
  ended_ = true;
}

void PartitionQueues::tell_end(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                               std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  if (channel != nullptr) {
    if (channel->reader != reader || channel->end_told || !channel->buffers.empty()) return;
    channel->end_told = true;
  }
  calls->push_back(call(ReaderCall::Kind::kEnded, reader));
}

void PartitionQueues::tell_release(uint32_t subpartition,
                                   const std::shared_ptr<ChannelReader>& reader,
                                   std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  const Channel* channel = channels_.find(subpartition);
  if (channel == nullptr ? ended_ : channel->reader != reader || channel->end_told) return;
  calls->push_back(
      call(ReaderCall::Kind::kLost, reader,
           unavailable(fmt::format("producer {} went away before its end", producer_))));
}

std::vector<std::vector<Buffer>> PartitionQueues::clear() {
  std::vector<std::vector<Buffer>> dropped;
  MutexLock lock(mutex_);
  channels_.for_each([&](uint32_t, Channel& channel) {
    channel.reader = nullptr;
    dropped.push_back(channel.buffers.take_all());
  });
  return dropped;
}

}  // namespace freshet
