#include "shuffle/gate_inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

/// Bytes behind the kind of an event; 0 for what is no event that travels.
size_t event_field_bytes(uint8_t kind) {
  switch (static_cast<ElementKind>(kind)) {
    case ElementKind::kWatermark:
      return 8;
    case ElementKind::kStatus:
      return 1;
    case ElementKind::kBarrier:
      return 16;
    default:
      return 0;
  }
}

}  // namespace

Status GateInbox::check_data(const FrameHeader& header, size_t payload_bytes) {
  const uint32_t charge = header.block_class * kFrameCreditUnitBytes;
  if (charge != block_bytes_for(charge))
    return data_loss(fmt::format("a charge of {} bytes, which no block has", charge));
  if (payload_bytes > charge)
    return data_loss(fmt::format("{} bytes of data are charged as {}", payload_bytes, charge));
  if (header.elements_started > payload_bytes) {
    return data_loss(
        fmt::format("{} elements start in {} bytes", header.elements_started, payload_bytes));
  }
  return Status();
}

Status GateInbox::check_event(const FrameHeader& header, std::string_view payload) {
  const auto kind = static_cast<uint8_t>(payload[0]);
  const size_t field_bytes = event_field_bytes(kind);
  if (field_bytes == 0)
    return data_loss(fmt::format("an event of kind {}, which there is not", kind));
  if (payload.size() != 1 + field_bytes) {
    return data_loss(fmt::format("an event of kind {} with {} bytes of fields instead of {}", kind,
                                 payload.size() - 1, field_bytes));
  }
  const uint32_t numbered = kind == static_cast<uint8_t>(ElementKind::kBarrier) ? 0 : 1;
  if (header.elements_started != numbered) {
    return data_loss(fmt::format("an event that counts as {} elements instead of {}",
                                 header.elements_started, numbered));
  }
  if (header.block_class != 0) {
    return data_loss(fmt::format("an event with a charge of {} bytes",
                                 header.block_class * kFrameCreditUnitBytes));
  }
  if (header.flags != 0) return data_loss(fmt::format("an event with flags {}", header.flags));
  return Status();
}

Status GateInbox::check_shape(const FrameHeader& header, std::string_view payload) {
  if (payload.empty())
    return data_loss(fmt::format("a frame of kind {} without a payload", to_string(header.kind)));
  return header.kind == FrameKind::kEvent ? check_event(header, payload)
                                          : check_data(header, payload.size());
}

Status GateInbox::breach(const Source& source, uint32_t producer, const std::string& what) const {
  return data_loss(fmt::format("dataset {}, subpartition {}, producer {}: {}",
                               options_.dataset.value, source.attachment.subpartition, producer,
                               what));
}

BlockRef GateInbox::block_for(const Source& source, const FrameHeader& header) const {
  if (header.kind != FrameKind::kData) return nullptr;
  const AttachedProducers* range = source.attachment.find(header.producer);
  if (range == nullptr || range->attempt != header.producer_attempt) return nullptr;
  if (!check_data(header, header.payload_bytes).ok()) return nullptr;
  return Block::allocate(*options_.pool, header.block_class * kFrameCreditUnitBytes, nullptr);
}

Buffer GateInbox::make_buffer(const FrameHeader& header, std::string_view payload, BlockRef block,
                              BlockReserve* reserve) const {
  const bool event = header.kind == FrameKind::kEvent;
  const auto size = static_cast<uint32_t>(payload.size());
  if (!block) {
    const uint32_t charge = header.block_class * kFrameCreditUnitBytes;
    if (event) {
      block = Block::on_heap(size, nullptr, 0);
    } else if (reserve != nullptr && charge == kSmallBlockBytes) {
      block = reserve->take();
    } else {
      block = Block::allocate(*options_.pool, charge, nullptr);
    }
    std::memcpy(block->data(), payload.data(), payload.size());
  }
  Buffer buffer(std::move(block), size);
  buffer.event = event;
  buffer.flags = header.flags;
  buffer.elements_started = header.elements_started;
  buffer.first_element = header.first_element;
  buffer.hash = header.hash;
  buffer.gate = header.gate;
  return buffer;
}

Status GateInbox::on_frame(const Source& source, const FrameHeader& header,
                           std::string_view payload, FrameOutcome* outcome, BlockRef placed,
                           BlockReserve* reserve) {
  Status status = let_in(source, header, payload, outcome, std::move(placed), reserve);
  return status.ok() ? status : breach(source, header.producer, status.message());
}

Status GateInbox::let_in(const Source& source, const FrameHeader& header, std::string_view payload,
                         FrameOutcome* outcome, BlockRef placed, BlockReserve* reserve) {
  const AttachedProducers* range = source.attachment.find(header.producer);
  if (range == nullptr) return data_loss("a frame of a producer that was not asked for");
  RETURN_IF_ERROR(check_shape(header, payload));
  if (header.producer_attempt != range->attempt) {
    note_other_attempt(source, header, range->attempt);
    return Status();
  }
  // What is not accepted is dropped after the lock.
  Buffer buffer = make_buffer(header, payload, std::move(placed), reserve);
  MutexLock lock(mutex_);
  if (closed_ || !owns(source, header.producer)) return Status();
  bool accepted = false;
  RETURN_IF_ERROR(admit(source, header, &outcome->returned_bytes, &accepted));
  if (!accepted) return Status();
  arrivals_.buffers.push_back({header.producer, std::move(buffer)});
  outcome->wake = note_arrival();
  return Status();
}

void GateInbox::note_other_attempt(const Source& source, const FrameHeader& header,
                                   AttemptNumber wanted) {
  {
    MutexLock lock(mutex_);
    ++frames_of_other_attempts_;
    if (!with_other_attempts_.insert(source.index).second) return;
  }
  LOG_WARN("frames_of_another_attempt", {{"job", source.attachment.job},
                                         {"task_manager", source.task_manager},
                                         {"dataset", options_.dataset.value},
                                         {"producer", header.producer},
                                         {"attempt", header.producer_attempt},
                                         {"wanted_attempt", wanted}});
}

uint64_t GateInbox::frames_of_other_attempts() const {
  MutexLock lock(mutex_);
  return frames_of_other_attempts_;
}

GateInbox::Channel& GateInbox::channel_of(const Attachment& attachment, uint32_t producer) {
  const auto [at, is_new] = channels_.try_emplace(producer);
  if (is_new) {
    at->second.next_element = attachment.next_element(producer);
    at->second.credit_bytes = attachment.credit_bytes;
  }
  return at->second;
}

Status GateInbox::admit(const Source& source, const FrameHeader& header, uint32_t* returned_bytes,
                        bool* accepted) {
  // It failed; nothing more is wanted, whatever credit was taken from it since.
  if (lost_.contains(header.producer)) return Status();
  Channel& channel = channel_of(source.attachment, header.producer);
  const uint32_t charge = header.block_class * kFrameCreditUnitBytes;
  if (charge > channel.credit_bytes) {
    return data_loss(
        fmt::format("a charge of {} bytes with a credit of {}", charge, channel.credit_bytes));
  }
  if (ended_.contains(header.producer)) {
    return data_loss(fmt::format("element {} came behind its end", header.first_element));
  }
  const uint64_t next = header.first_element + header.elements_started;
  if (header.first_element < channel.next_element && next <= channel.next_element) {
    *returned_bytes = charge;  // Known already.
    return Status();
  }
  if (header.first_element != channel.next_element) {
    return data_loss(
        fmt::format("element {} came instead of {}", header.first_element, channel.next_element));
  }
  channel.next_element = next;
  channel.credit_bytes -= charge;
  if (header.kind == FrameKind::kData)
    note_follows((header.flags & kFrameMoreFollows) != 0, header.producer, &channel);
  *accepted = true;
  return Status();
}

void GateInbox::note_follows(bool more, uint32_t producer, Channel* channel) {
  channel->more_follows = more;
  if (more || !channel->waits) return;
  channel->waits = false;
  floating_.forget({producer, producer + 1});
}

const GateInbox::Owned* GateInbox::owner_of(uint32_t producer) const {
  const auto after = std::ranges::upper_bound(owners_, producer, {},
                                              [](const Owned& owned) { return owned.span.begin; });
  if (after == owners_.begin() || producer >= std::prev(after)->span.end) return nullptr;
  return &*std::prev(after);
}

std::vector<ProducerSpan> GateInbox::owned_in(const Source& source, ProducerSpan span) const {
  std::vector<ProducerSpan> owned;
  auto owner = std::ranges::upper_bound(owners_, span.begin, {},
                                        [](const Owned& each) { return each.span.end; });
  for (; owner != owners_.end() && owner->span.begin < span.end; ++owner) {
    if (owner->source.get() != &source) continue;
    owned.push_back({std::max(owner->span.begin, span.begin), std::min(owner->span.end, span.end)});
  }
  return owned;
}

std::vector<std::shared_ptr<const GateInbox::Source>> GateInbox::take_over(
    ProducerSpan span, const std::shared_ptr<const Source>& source) {
  const auto first = std::ranges::upper_bound(owners_, span.begin, {},
                                              [](const Owned& owned) { return owned.span.end; });
  auto last = first;
  std::vector<Owned> instead;
  std::vector<std::shared_ptr<const Source>> losing;
  const auto keep = [&](ProducerSpan part, const std::shared_ptr<const Source>& of) {
    if (part.begin < part.end) instead.push_back({part, of});
  };
  if (first != owners_.end())
    keep({first->span.begin, std::min(first->span.end, span.begin)}, first->source);
  keep(span, source);
  for (; last != owners_.end() && last->span.begin < span.end; ++last) {
    losing.push_back(last->source);
    keep({std::max(last->span.begin, span.end), last->span.end}, last->source);
  }
  owners_.insert(owners_.erase(first, last), instead.begin(), instead.end());
  return losing;
}

bool GateInbox::take_unowned(const std::shared_ptr<const Source>& source) {
  std::vector<Owned> all;
  all.reserve(owners_.size() + source->attachment.producers.size());
  auto owner = owners_.begin();
  for (const AttachedProducers& range : source->attachment.producers) {
    for (; owner != owners_.end() && owner->span.begin < range.span.end; ++owner) {
      if (owner->span.end > range.span.begin) return false;
      all.push_back(*owner);
    }
    all.push_back({range.span, source});
  }
  all.insert(all.end(), owner, owners_.end());
  owners_ = std::move(all);
  return true;
}

void GateInbox::forget(ProducerSpan span, Arrivals* dropped) {
  const auto within = [&](uint32_t producer) {
    return producer >= span.begin && producer < span.end;
  };
  std::vector<Arrived> buffers;
  for (Arrived& arrived : arrivals_.buffers)
    (within(arrived.producer) ? dropped->buffers : buffers).push_back(std::move(arrived));
  arrivals_.buffers = std::move(buffers);
  std::erase_if(arrivals_.ready, [&](const ReadyChannel& ready) { return within(ready.producer); });
  forget_end(span);
  lost_.remove(span);
  drop_channels(span);
}

void GateInbox::drop_channels(ProducerSpan producers) {
  floating_.forget(producers);
  uint64_t floating_bytes = 0;
  boost::unordered::erase_if(channels_, [&](const auto& channel) {
    if (channel.first < producers.begin || channel.first >= producers.end) return false;
    floating_bytes += channel.second.floating_bytes;
    return true;
  });
  floating_.put_back(floating_bytes);
}

void GateInbox::forget_end(ProducerSpan span) {
  ProducerSet ended;
  for (const ProducerSpan& one : arrivals_.ended) ended.add(one);
  ended.remove(span);
  arrivals_.ended = ended.spans();
  ended_.remove(span);
}

std::vector<std::shared_ptr<const GateInbox::Source>> GateInbox::add(
    const std::shared_ptr<Source>& source) {
  Arrivals dropped;
  std::vector<std::shared_ptr<const Source>> idle;
  bool woken = false;
  {
    MutexLock lock(mutex_);
    idle = hand_over_to(source, &dropped);
    woken = note_floating();
  }
  wake_if(woken);
  return idle;
}

std::vector<std::shared_ptr<const GateInbox::Source>> GateInbox::hand_over_to(
    const std::shared_ptr<Source>& source, Arrivals* dropped) {
  std::vector<std::shared_ptr<const Source>> idle;
  source->index = sources_.size();
  sources_.push_back(source);
  if (take_unowned(source)) return idle;
  for (const AttachedProducers& range : source->attachment.producers) {
    const auto losing = take_over(range.span, source);
    if (losing.empty()) continue;
    forget(range.span, dropped);
    for (const auto& one : losing) {
      const bool owns_some =
          std::ranges::any_of(owners_, [&](const Owned& owner) { return owner.source == one; });
      if (!owns_some && std::ranges::find(idle, one) == idle.end()) idle.push_back(one);
    }
  }
  return idle;
}

std::shared_ptr<const GateInbox::Source> GateInbox::source_of(uint32_t producer) const {
  MutexLock lock(mutex_);
  const Owned* owner = owner_of(producer);
  return owner == nullptr ? nullptr : owner->source;
}

bool GateInbox::end_sound(const Source& source, std::span<const ProducerSpan> producers) {
  std::vector<ProducerSpan> owned;
  for (const ProducerSpan& span : producers)
    std::ranges::move(owned_in(source, span), std::back_inserter(owned));
  const std::vector<ProducerSpan> sound = spans_without(owned, lost_.spans());
  if (sound.empty()) return false;
  ended_.add_all(sound);
  for (const ProducerSpan& span : sound) stop_floating(span);
  std::ranges::copy(sound, std::back_inserter(arrivals_.ended));
  return note_arrival();
}

Status GateInbox::on_ended(const Source& source, const std::vector<ProducerSpan>& spans) {
  for (const ProducerSpan& span : spans) {
    if (!source.attachment.covers(span)) {
      return data_loss(fmt::format(
          "dataset {}, subpartition {}: the end of producers {} to {}, which were not all asked "
          "for",
          options_.dataset.value, source.attachment.subpartition, span.begin, span.end));
    }
  }
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return Status();
    woken = end_sound(source, spans);
    woken = note_floating() || woken;
  }
  wake_if(woken);
  return Status();
}

std::vector<ProducerSpan> GateInbox::lose(const Source& source, ProducerSpan producers) {
  std::vector<ProducerSpan> lost;
  if (closed_) return lost;
  for (const ProducerSpan& owned : owned_in(source, producers)) {
    for (const ProducerSpan& open : ended_.missing_in(owned)) {
      for (const ProducerSpan& span : lost_.missing_in(open)) lost.push_back(span);
    }
  }
  for (const ProducerSpan& span : lost) {
    lost_.add(span);
    stop_floating(span);
  }
  return lost;
}

void GateInbox::report(const Source& source, const std::vector<ProducerSpan>& lost,
                       const Status& cause) const {
  if (!options_.on_loss) return;
  for (const ProducerSpan& span : lost) {
    options_.on_loss(
        ChannelLoss{options_.dataset, span.begin, span.end, source.task_manager, cause});
  }
}

void GateInbox::on_lost(const Source& source, ProducerSpan producers, const Status& cause) {
  std::vector<ProducerSpan> lost;
  bool woken = false;
  {
    MutexLock lock(mutex_);
    lost = lose(source, producers);
    woken = note_floating();
  }
  wake_if(woken);
  report(source, lost, cause);
}

void GateInbox::on_source_lost(const Source& source, const Status& cause) {
  on_lost(source, ProducerSpan{0, UINT32_MAX}, cause);
}

void GateInbox::fail(uint32_t producer, const Status& cause) {
  std::shared_ptr<const Source> source;
  std::vector<ProducerSpan> lost;
  bool woken = false;
  {
    MutexLock lock(mutex_);
    const Owned* owner = owner_of(producer);
    if (owner == nullptr || closed_) return;
    source = owner->source;
    // Its end says nothing any more. At once: one that comes meanwhile must not hide the loss.
    forget_end({producer, producer + 1});
    lost = lose(*source, {producer, producer + 1});
    drop_channels({producer, producer + 1});
    woken = note_floating();
  }
  wake_if(woken);
  report(*source, lost, cause);
}

bool GateInbox::note_arrival() {
  if (pending_.load(std::memory_order_relaxed)) return false;
  pending_.store(true, std::memory_order_release);
  return true;
}

void GateInbox::wake_if(bool needed) const {
  if (needed && options_.wake) options_.wake();
}

void GateInbox::take(Arrivals* arrivals) {
  MutexLock lock(mutex_);
  pending_.store(false, std::memory_order_release);
  std::swap(arrivals_, *arrivals);
}

void GateInbox::note_ended(uint32_t producer) {
  MutexLock lock(mutex_);
  ended_.add({producer, producer + 1});
}

void GateInbox::add_credit(std::vector<CreditReturn>* credits) {
  MutexLock lock(mutex_);
  bool some_float = false;
  for (CreditReturn& credit : *credits) {
    const Owned* owner = owner_of(credit.producer);
    if (owner == nullptr || owner->source->index != credit.attachment) continue;
    const auto channel = channels_.find(credit.producer);
    if (channel == channels_.end()) continue;
    if (channel->second.floating_bytes != 0) [[unlikely]] {
      some_float = true;
      credit.bytes = keep_credit(&channel->second, credit.bytes);
    }
    channel->second.credit_bytes += credit.bytes;
  }
  if (!some_float && !floating_.anybody_waits()) return;
  std::erase_if(*credits, [](const CreditReturn& credit) { return credit.bytes == 0; });
  grant_floating(credits);
}

uint32_t GateInbox::keep_credit(Channel* channel, uint32_t bytes) {
  // Without need, or when others need it too, what floats goes back first.
  if (channel->more_follows && !floating_.anybody_waits()) return bytes;
  const uint64_t given_up = std::min<uint64_t>(bytes, channel->floating_bytes);
  channel->floating_bytes -= given_up;
  floating_.put_back(given_up);
  return bytes - static_cast<uint32_t>(given_up);
}

void GateInbox::grant_floating(std::vector<CreditReturn>* credits) {
  while (const auto grant = floating_.grant_next()) {
    const Owned* const owner = owner_of(grant->producer);
    const auto channel = channels_.find(grant->producer);
    CHECK(owner != nullptr && channel != channels_.end());  // Else it would not wait.
    channel->second.waits = false;
    channel->second.floating_bytes += grant->bytes;
    channel->second.credit_bytes += grant->bytes;
    credits->push_back(
        {static_cast<uint32_t>(owner->source->index), grant->producer, grant->bytes});
  }
}

void GateInbox::stop_floating(ProducerSpan producers) {
  floating_.forget(producers);
  uint64_t unused_bytes = 0;
  const auto stop = [&](Channel& channel) {
    channel.waits = false;
    channel.more_follows = false;
    // The rest comes back with the buffers that hold it.
    const uint64_t unused = std::min(channel.floating_bytes, channel.credit_bytes);
    channel.floating_bytes -= unused;
    channel.credit_bytes -= unused;
    unused_bytes += unused;
  };
  if (producers.end - producers.begin < channels_.size()) {
    for (uint32_t producer = producers.begin; producer < producers.end; ++producer) {
      if (const auto at = channels_.find(producer); at != channels_.end()) stop(at->second);
    }
  } else {
    for (auto& [producer, channel] : channels_) {
      if (producer >= producers.begin && producer < producers.end) stop(channel);
    }
  }
  floating_.put_back(unused_bytes);
}

Status GateInbox::on_backlog(const Source& source, uint32_t producer, uint32_t bytes,
                             uint32_t* granted_bytes) {
  *granted_bytes = 0;
  if (source.attachment.find(producer) == nullptr)
    return breach(source, producer,
                  fmt::format("a backlog of {} bytes of a producer that was not asked for", bytes));
  MutexLock lock(mutex_);
  if (closed_ || !owns(source, producer) || ended_.contains(producer) || lost_.contains(producer))
    return Status();
  Channel& channel = channel_of(source.attachment, producer);
  channel.more_follows = true;
  const uint64_t wanted = std::min<uint64_t>(bytes, kFloatingBytesMax - channel.floating_bytes);
  if (channel.waits || wanted < kSmallBlockBytes) return Status();
  *granted_bytes = floating_.ask(producer, static_cast<uint32_t>(wanted));
  channel.waits = *granted_bytes == 0;
  channel.floating_bytes += *granted_bytes;
  channel.credit_bytes += *granted_bytes;
  return Status();
}

Status GateInbox::on_credit_back(const Source& source, uint32_t producer, uint32_t bytes) {
  if (source.attachment.find(producer) == nullptr)
    return breach(
        source, producer,
        fmt::format("{} bytes of credit back of a producer that was not asked for", bytes));
  bool woken = false;
  {
    MutexLock lock(mutex_);
    // Where nothing more comes, what floats went back already.
    if (closed_ || !owns(source, producer) || ended_.contains(producer) || lost_.contains(producer))
      return Status();
    Channel& channel = channel_of(source.attachment, producer);
    const uint64_t own = source.attachment.credit_bytes;
    const uint64_t above_own = channel.credit_bytes > own ? channel.credit_bytes - own : 0;
    const uint64_t spare = std::min(above_own, channel.floating_bytes);
    if (bytes > spare) {
      return breach(source, producer,
                    fmt::format("{} bytes of credit back, and it has {} to spare", bytes, spare));
    }
    channel.credit_bytes -= bytes;
    channel.floating_bytes -= bytes;
    floating_.put_back(bytes);
    woken = note_floating();
  }
  wake_if(woken);
  return Status();
}

bool GateInbox::note_floating() {
  if (closed_ || !floating_.anybody_waits() || floating_.free_bytes() < kSmallBlockBytes)
    return false;
  // Credit is told over the connections that the task knows.
  arrivals_.credit_to_grant = true;
  return note_arrival();
}

void GateInbox::close() {
  Arrivals dropped;
  MutexLock lock(mutex_);
  closed_ = true;
  dropped = std::exchange(arrivals_, Arrivals());
}

}  // namespace freshet
