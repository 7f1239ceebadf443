#include "shuffle/partition_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "network/frame.h"
#include "runtime/base/check.h"
#include "shuffle/data_messages.h"
#include "shuffle/prefetch.h"

namespace freshet {

namespace {

constexpr size_t kPushedAhead = 8;
constexpr size_t kCallsAhead = 4;

/// The largest block that is not larger; a small one at least.
uint32_t largest_block(uint64_t bytes) {
  if (bytes >= kLargeBlockBytes) return kLargeBlockBytes;
  return bytes >= kMediumBlockBytes ? kMediumBlockBytes : kSmallBlockBytes;
}

/// How many calls from `first` on are of the same hub; at least one.
size_t ready_together(const std::vector<ReaderCall>& calls, size_t first) {
  const void* const hub = calls[first].reader->hub();
  size_t end = first + 1;
  if (hub == nullptr) return 1;
  while (end < calls.size() && calls[end].kind == ReaderCall::Kind::kReady &&
         calls[end].reader->hub() == hub)
    ++end;
  return end - first;
}

}  // namespace

Status went_away(ProducerSpan producers) {
  const std::string who = producers.end - producers.begin == 1
                              ? fmt::format("producer {} went away before its end", producers.begin)
                              : fmt::format("producers {} to {} went away before their end",
                                            producers.begin, producers.end);
  return unavailable(who);
}

void tell(const std::vector<ReaderCall>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const ReaderCall& call = calls[i];
    if (i + kCallsAhead < calls.size()) calls[i + kCallsAhead].reader->prefetch();
    const uint32_t producer = call.partition->producer();
    switch (call.kind) {
      case ReaderCall::Kind::kReady: {
        const size_t together = ready_together(calls, i);
        if (together == 1) {
          call.reader->on_ready(call);
        } else {
          call.reader->on_all_ready(std::span(calls).subspan(i, together));
          i += together - 1;
        }
        break;
      }
      case ReaderCall::Kind::kEnded:
        call.reader->on_ended({producer, producer + 1});
        break;
      case ReaderCall::Kind::kLost:
        call.reader->on_lost({producer, producer + 1}, call.cause);
        break;
    }
  }
}

PartitionQueues::PartitionQueues(Options options)
    : options_(std::move(options)), channels_(options_.subpartitions) {}

ReaderCall PartitionQueues::call(ReaderCall::Kind kind,
                                 const std::shared_ptr<ChannelReader>& reader, Status cause) {
  return ReaderCall{kind, reader, this, nullptr, std::move(cause), shared_from_this()};
}

uint32_t PartitionQueues::block_limit(const ChannelReader& reader) const {
  if (may_split() || !reader.is_charged()) return kLargeBlockBytes;
  // Two blocks in flight keep a channel busy while credit comes back.
  return largest_block(reader.attachment().credit_bytes / 2);
}

uint32_t PartitionQueues::charge_limit(const ChannelReader& reader) const {
  if (may_split() || !reader.is_charged()) return UINT32_MAX;
  // Of what floats a channel may get a small block, and wait for more behind others that do so too.
  return std::max(reader.attachment().credit_bytes, kSmallBlockBytes);
}

void PartitionQueues::push(std::vector<Pushed>* pushed, std::vector<ReaderCall>* calls) {
  std::vector<Buffer> dropped;
  {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < pushed->size(); ++i) {
      if (i + kPushedAhead < pushed->size())
        prefetch_bytes((*pushed)[i + kPushedAhead].channel, sizeof(Channel));
      Pushed& item = (*pushed)[i];
      Channel& channel = *item.channel;
      const bool was_empty = channel.buffers.empty();
      add(&channel, std::move(item.buffer));
      const uint32_t charge = channel.buffers.back().charge();
      if (!channel.reader) {
        if (channel.was_read) give_away_all(&channel, &dropped);
        continue;
      }
      const uint32_t limit = charge_limit(*channel.reader);
      Status status;
      if (charge > limit) {
        status = failed_precondition(
            fmt::format("a buffer is charged {} bytes, above the credit of {}", charge, limit));
      } else if (channel.skipping) [[unlikely]] {
        status = skip(&channel, &dropped);
      }
      if (!status.ok()) {
        lose_reader(&channel, std::move(status), calls, &dropped);
      } else if (was_empty && !channel.buffers.empty()) {
        calls->push_back({ReaderCall::Kind::kReady, channel.reader, this, &channel, {}, nullptr});
      }
    }
  }
  pushed->clear();
}

void PartitionQueues::add(Channel* channel, Buffer buffer) {
  waiting_bytes_ += buffer.size;
  // What waits grows: whoever is too slow for the flushes gets fewer and larger buffers.
  const bool grows = !channel->buffers.empty() && channel->is_uncut() &&
                     channel->buffers.back().goes_on_in(buffer);
  if (grows) {
    channel->buffers.back().append(buffer);
  } else {
    channel->buffers.push(std::move(buffer));
    ++waiting_;
  }
}

void PartitionQueues::put_first(Channel* channel, Buffer buffer) {
  waiting_bytes_ += buffer.size;
  channel->buffers.push_front(std::move(buffer));
  ++waiting_;
}

Buffer PartitionQueues::pop_first(Channel* channel) {
  --waiting_;
  waiting_bytes_ -= channel->buffers.front().size;
  return channel->buffers.pop();
}

void PartitionQueues::await_drained(const std::vector<Channel*>& channels) {
  MutexLock lock(mutex_);
  for (Channel* channel : channels) {
    channel->awaited = true;
    if (channel->buffers.empty()) note_drained(channel);
  }
}

void PartitionQueues::take_drained(std::vector<Channel*>* channels) {
  MutexLock lock(mutex_);
  channels->insert(channels->end(), drained_.begin(), drained_.end());
  drained_.clear();
}

void PartitionQueues::note_drained(Channel* channel) {
  if (std::exchange(channel->awaited, false)) drained_.push_back(channel);
}

PartitionQueues::Taken PartitionQueues::take(Channel* channel, const ChannelReader* reader,
                                             uint64_t credit_bytes, uint64_t bytes_max,
                                             std::vector<Buffer>* buffers) {
  Taken taken;
  uint64_t bytes = 0;
  MutexLock lock(mutex_);
  if (channel->reader.get() != reader) return taken;
  if (source_) [[unlikely]]
    refill(channel);
  while (!channel->buffers.empty() && bytes < bytes_max) {
    const uint32_t whole = channel->buffers.front().charge();
    const uint32_t charge = fitting_charge(*channel, credit_bytes - taken.charged_bytes);
    if (charge == 0 && whole != 0) break;
    taken.charged_bytes += charge;
    buffers->push_back(charge == whole ? give_away(channel) : take_piece(channel, charge));
    bytes += buffers->back().size + kFrameHeaderBytes;
    if (source_) [[unlikely]]
      refill(channel);
  }
  taken.more = !channel->buffers.empty();
  if (taken.more) {
    taken.more_data = channel->buffers.has_data();
    taken.next_charge = least_charge(*channel);
    if (taken.next_charge > credit_bytes - taken.charged_bytes) {
      taken.waiting_bytes = channel->buffers.charge(kFloatingBytesMax);
      if (source_) taken.waiting_bytes += source_->waiting_bytes();
    }
  } else if (ended_ && !channel->end_told) {
    channel->end_told = true;
    taken.ended = true;
  }
  return taken;
}

uint32_t PartitionQueues::least_charge(const Channel& channel) const {
  const uint32_t whole = channel.buffers.front().charge();
  if (!may_split()) return whole;
  // Not a small piece with each bit of credit that comes back.
  return std::min(whole, largest_block(channel.reader->attachment().credit_bytes / 2));
}

uint32_t PartitionQueues::fitting_charge(const Channel& channel, uint64_t credit_bytes) const {
  const uint32_t whole = channel.buffers.front().charge();
  if (whole <= credit_bytes) return whole;
  return least_charge(channel) <= credit_bytes ? largest_block(credit_bytes) : 0;
}

Buffer PartitionQueues::take_piece(Channel* channel, uint32_t charge) {
  Buffer piece = split_off(charge, options_.fixed_record_size, &channel->buffers.front());
  waiting_bytes_ -= piece.size;
  if (channel->past) channel->past->whole = Buffer();  // Nobody goes back behind the piece.
  channel->position = piece.first_element + piece.elements_started;
  channel->hash = 0;
  channel->inside_element = (piece.flags & kFrameEndsIncomplete) != 0;
  return piece;
}

Buffer PartitionQueues::give_away(Channel* channel) {
  Buffer buffer = pop_first(channel);
  if (channel->awaited && channel->buffers.empty()) [[unlikely]]
    note_drained(channel);
  channel->position = buffer.first_element + buffer.elements_started;
  channel->hash = buffer.hash;
  channel->inside_element = (buffer.flags & kFrameEndsIncomplete) != 0;
  if (options_.retained_bytes_max != 0) [[unlikely]]
    retain(channel->is_uncut() ? buffer : channel->past->whole, channel);
  if (channel->past) channel->past->whole = Buffer();  // `buffer` has the same block.
  return buffer;
}

void PartitionQueues::put_back(Buffer buffer, Channel* channel) {
  channel->position = buffer.first_element;
  const bool nothing_before = !channel->past || channel->past->retained.empty();
  channel->hash = nothing_before ? 0 : channel->past->retained.back().hash;
  channel->inside_element = (buffer.flags & kFrameStartsWithTail) != 0;
  put_first(channel, std::move(buffer));
}

void PartitionQueues::retain(const Buffer& buffer, Channel* channel) {
  // The block goes back to the pool as soon as it is used; what is retained has a budget of its
  // own.
  Buffer kept = buffer;
  if (!kept.kept) {
    const auto copy = Block::on_heap(buffer.size, nullptr, 0);
    std::memcpy(copy->data(), buffer.bytes().data(), buffer.size);
    kept.block = copy;
    kept.data = copy->data();
    kept.kept = true;
  }
  retained_bytes_ += kept.size;
  BufferQueue& retained = channel->make_past().retained;
  retained.push(std::move(kept));
  while (retained_bytes_ > options_.retained_bytes_max && !retained.empty())
    retained_bytes_ -= retained.pop().size;
}

void PartitionQueues::give_away_all(Channel* channel, std::vector<Buffer>* dropped) {
  while (!channel->buffers.empty()) dropped->push_back(give_away(channel));
}

void PartitionQueues::lose_reader(Channel* channel, Status cause, std::vector<ReaderCall>* calls,
                                  std::vector<Buffer>* dropped) {
  calls->push_back(call(ReaderCall::Kind::kLost, channel->reader, std::move(cause)));
  channel->reader = nullptr;
  channel->skipping = false;
  give_away_all(channel, dropped);
}

PartitionQueues::Channel* PartitionQueues::create_channel(
    uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
    std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  Channel& channel = channels_.create(subpartition, subpartition);
  const ChannelPosition start = start_of(subpartition);
  channel.position = start.elements;
  channel.hash = static_cast<uint32_t>(start.hash);
  if (!reader) return &channel;
  std::vector<Buffer> none;
  if (Status status = hand_to(reader, &channel, &none); !status.ok())
    calls->push_back(call(ReaderCall::Kind::kLost, reader, std::move(status)));
  return &channel;
}

Status PartitionQueues::hand_to(const std::shared_ptr<ChannelReader>& reader, Channel* channel,
                                std::vector<Buffer>* dropped) {
  channel->reader = nullptr;
  channel->was_read = true;
  const uint64_t wanted = reader->attachment().next_element(producer());
  if (!channel->is_uncut()) {
    (void)pop_first(channel);
    put_back(std::exchange(channel->past->whole, Buffer()), channel);
  }
  while (channel->position > wanted && channel->past && !channel->past->retained.empty()) {
    Buffer last = channel->past->retained.pop_back();
    retained_bytes_ -= last.size;
    put_back(std::move(last), channel);
  }
  if (channel->position > wanted) {
    return failed_precondition(
        fmt::format("producer {} has given away elements up to {}, and {} is asked for", producer(),
                    channel->position, wanted));
  }
  const uint32_t limit = charge_limit(*reader);
  if (!channel->buffers.fits(limit)) {
    return failed_precondition(
        fmt::format("producer {} holds buffers above the credit of {} bytes", producer(), limit));
  }
  channel->reader = reader;
  channel->skipping = true;
  channel->block_bytes_max.store(block_limit(*reader), std::memory_order_relaxed);
  Status status = skip(channel, dropped);
  if (!status.ok()) channel->reader = nullptr;
  return status;
}

Status PartitionQueues::skip(Channel* channel, std::vector<Buffer>* dropped) {
  const uint64_t wanted = channel->reader->attachment().next_element(producer());
  while (channel->position < wanted || channel->inside_element) {
    if (channel->buffers.empty()) return Status();
    const Buffer& front = channel->buffers.front();
    if (front.has_start_of(wanted)) {
      Buffer first = pop_first(channel);
      channel->make_past().whole = first;
      cut_before(wanted, options_.fixed_record_size, &first);
      put_first(channel, std::move(first));
      channel->position = wanted;
      channel->hash = 0;
      channel->inside_element = false;
    } else {
      dropped->push_back(give_away(channel));
    }
  }
  channel->skipping = false;
  return check_hash(*channel, *channel->reader);
}

Status PartitionQueues::check_hash(const Channel& channel, const ChannelReader& reader) const {
  const uint64_t hash = reader.attachment().position(producer()).hash;
  if (hash == 0 || channel.hash == 0 || static_cast<uint32_t>(hash) == channel.hash)
    return Status();
  return data_loss(
      fmt::format("the {} elements of producer {} that the consumer has are not those it sent: "
                  "their hash differs",
                  channel.position, producer()));
}

void PartitionQueues::attach(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                             std::vector<ReaderCall>* calls, std::vector<Buffer>* dropped) {
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  CHECK(channel != nullptr);
  Status status = hand_to(reader, channel, dropped);
  if (status.ok() && ended_ && channel->skipping) {
    status = missing_at_end(channel->position, *reader);
    channel->reader = nullptr;
  }
  if (!status.ok()) {
    calls->push_back(call(ReaderCall::Kind::kLost, reader, std::move(status)));
    give_away_all(channel, dropped);
    return;
  }
  channel->end_told = ended_ && channel->buffers.empty();
  if (!channel->buffers.empty()) {
    calls->push_back(
        {ReaderCall::Kind::kReady, channel->reader, this, channel, {}, shared_from_this()});
  } else if (ended_) {
    calls->push_back(call(ReaderCall::Kind::kEnded, reader));
  }
}

void PartitionQueues::detach(uint32_t subpartition, const ChannelReader* reader,
                             std::vector<Buffer>* dropped) {
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  if (channel == nullptr || channel->reader.get() != reader) return;
  channel->reader = nullptr;
  channel->skipping = false;
  channel->block_bytes_max.store(kSmallBlockBytes, std::memory_order_relaxed);
  give_away_all(channel, dropped);
}

void PartitionQueues::set_ended() {
  MutexLock lock(mutex_);
  ended_ = true;
}

bool PartitionQueues::ended() const {
  MutexLock lock(mutex_);
  return ended_;
}

Status PartitionQueues::missing_at_end(uint64_t written, const ChannelReader& reader) const {
  const uint64_t wanted = reader.attachment().next_element(producer());
  if (written >= wanted) return Status();
  return data_loss(
      fmt::format("producer {} ended after {} elements, and the consumer has {} already",
                  producer(), written, wanted));
}

void PartitionQueues::tell_end(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                               std::vector<ReaderCall>* calls) {
  if (subpartition >= options_.subpartitions) return;
  MutexLock lock(mutex_);
  Channel* channel = channels_.find(subpartition);
  if (channel == nullptr) return add_end(start_of(subpartition).elements, reader, calls);
  if (channel->reader == reader) end_channel(channel, calls);
}

void PartitionQueues::tell_ends(std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  std::vector<Channel*> read;
  channels_.for_each([&](uint32_t, Channel& channel) {
    if (channel.reader) read.push_back(&channel);
  });
  for (Channel* channel : read) end_channel(channel, calls);
}

void PartitionQueues::end_channel(Channel* channel, std::vector<ReaderCall>* calls) {
  if (channel->end_told || !channel->buffers.empty()) return;
  channel->end_told = true;
  add_end(channel->position, channel->reader, calls);
}

void PartitionQueues::add_end(uint64_t written, const std::shared_ptr<ChannelReader>& reader,
                              std::vector<ReaderCall>* calls) {
  if (Status status = missing_at_end(written, *reader); !status.ok()) {
    calls->push_back(call(ReaderCall::Kind::kLost, reader, std::move(status)));
  } else {
    calls->push_back(call(ReaderCall::Kind::kEnded, reader));
  }
}

ReaderCall PartitionQueues::release_call(const std::shared_ptr<ChannelReader>& reader) {
  return call(ReaderCall::Kind::kLost, reader, went_away({producer(), producer() + 1}));
}

void PartitionQueues::tell_release(uint32_t subpartition,
                                   const std::shared_ptr<ChannelReader>& reader,
                                   std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  const Channel* channel = channels_.find(subpartition);
  if (channel == nullptr || channel->reader == reader) calls->push_back(release_call(reader));
}

void PartitionQueues::tell_untaken(std::vector<ReaderCall>* calls) {
  MutexLock lock(mutex_);
  channels_.for_each([&](uint32_t, const Channel& channel) {
    if (channel.reader && !channel.end_told) calls->push_back(release_call(channel.reader));
  });
}

std::vector<uint32_t> PartitionQueues::existing() const {
  std::vector<uint32_t> existing;
  MutexLock lock(mutex_);
  channels_.for_each(
      [&](uint32_t subpartition, const Channel&) { existing.push_back(subpartition); });
  return existing;
}

void PartitionQueues::clear(std::vector<Buffer>* dropped) {
  MutexLock lock(mutex_);
  waiting_ = 0;
  waiting_bytes_ = 0;
  channels_.for_each([&](uint32_t, Channel& channel) {
    channel.reader = nullptr;
    std::ranges::move(channel.buffers.take_all(), std::back_inserter(*dropped));
    if (!channel.past) return;
    std::ranges::move(channel.past->retained.take_all(), std::back_inserter(*dropped));
    dropped->push_back(std::move(channel.past->whole));
  });
}

}  // namespace freshet
