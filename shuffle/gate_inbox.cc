#include "shuffle/gate_inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

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

Status GateInbox::check_shape(const FrameHeader& header, std::string_view payload) {
  if (payload.empty()) return data_loss("a frame without a payload");
  if (header.kind == FrameKind::kEvent) {
    const auto kind = static_cast<uint8_t>(payload[0]);
    const size_t field_bytes = event_field_bytes(kind);
    const bool whole = field_bytes != 0 && payload.size() == 1 + field_bytes;
    const uint32_t numbered = kind == static_cast<uint8_t>(ElementKind::kBarrier) ? 0 : 1;
    if (whole && header.block_class == 0 && header.elements_started == numbered &&
        header.flags == 0)
      return Status();
    return data_loss(fmt::format("a malformed event of kind {} in {} bytes", kind, payload.size()));
  }
  const uint32_t charge = header.block_class * kFrameCreditUnitBytes;
  if (charge != block_bytes_for(charge) || payload.size() > charge) {
    return data_loss(fmt::format("{} bytes of data in a block of {}", payload.size(), charge));
  }
  if (header.elements_started > payload.size()) {
    return data_loss(
        fmt::format("{} elements in {} bytes", header.elements_started, payload.size()));
  }
  return Status();
}

Buffer GateInbox::copy(const FrameHeader& header, std::string_view payload) const {
  Buffer buffer;
  buffer.event = header.kind == FrameKind::kEvent;
  const auto size = static_cast<uint32_t>(payload.size());
  const std::shared_ptr<Block> block =
      buffer.event
          ? Block::for_event(size, nullptr, 0)
          : Block::allocate(options_.pool, header.block_class * kFrameCreditUnitBytes, nullptr);
  std::memcpy(block->data(), payload.data(), payload.size());
  buffer.block = block;
  buffer.size = size;
  buffer.flags = header.flags;
  buffer.elements_started = header.elements_started;
  buffer.first_element = header.first_element;
  buffer.hash = header.hash;
  buffer.gate = header.gate;
  return buffer;
}

Status GateInbox::on_frame(size_t source, const FrameHeader& header, std::string_view payload,
                           uint32_t* returned_bytes) {
  const AttachedProducers* range = options_.sources[source].attachment.find(header.producer);
  if (range == nullptr)
    return data_loss(fmt::format("data of producer {}, which was not asked for", header.producer));
  RETURN_IF_ERROR(check_shape(header, payload));
  if (header.producer_attempt != range->attempt)
    return Status();                      // Of an execution that is not wanted (any more).
  Buffer buffer = copy(header, payload);  // What is not accepted is dropped after the lock.
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return Status();
    bool accepted = false;
    RETURN_IF_ERROR(admit(source, header, returned_bytes, &accepted));
    if (accepted) arrivals_.buffers.push_back({header.producer, std::move(buffer)});
    if (accepted || !arrivals_.failure.ok()) woken = note_arrival();
  }
  wake_if(woken);
  return Status();
}

Status GateInbox::admit(size_t source, const FrameHeader& header, uint32_t* returned_bytes,
                        bool* accepted) {
  const Attachment& attachment = options_.sources[source].attachment;
  const auto [at, is_new] = channels_.try_emplace(header.producer);
  Channel& channel = at->second;
  if (is_new) channel = {attachment.next_element(header.producer), attachment.credit_bytes};
  const uint32_t charge = header.block_class * kFrameCreditUnitBytes;
  if (charge > channel.credit_bytes) {
    return data_loss(fmt::format("{} bytes of producer {} with a credit of {}", charge,
                                 header.producer, channel.credit_bytes));
  }
  if (ended_.contains(header.producer)) {
    return data_loss(fmt::format("data of producer {} behind its end", header.producer));
  }
  const uint64_t next = header.first_element + header.elements_started;
  if (header.first_element < channel.next_element && next <= channel.next_element) {
    *returned_bytes = charge;  // Known already.
    return Status();
  }
  if (header.first_element != channel.next_element) {
    if (arrivals_.failure.ok()) {
      arrivals_.failure = data_loss(
          fmt::format("producer {} of dataset {}: element {} came instead of {}", header.producer,
                      options_.dataset.value, header.first_element, channel.next_element));
    }
    return Status();
  }
  channel.next_element = next;
  channel.credit_bytes -= charge;
  *accepted = true;
  return Status();
}

Status GateInbox::on_ended(size_t source, const std::vector<ProducerSpan>& spans) {
  const Attachment& attachment = options_.sources[source].attachment;
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return Status();
    for (const ProducerSpan& span : spans) {
      ProducerSet outside;
      for (const AttachedProducers& range : attachment.producers) outside.add(range.span);
      if (!outside.missing_in(span).empty()) {
        return data_loss(fmt::format("the end of producers {} to {}, which were not asked for",
                                     span.begin, span.end));
      }
      ended_.add(span);
      arrivals_.ended.push_back(span);
      woken = note_arrival() || woken;
    }
  }
  wake_if(woken);
  return Status();
}

void GateInbox::on_lost(size_t source, ProducerSpan producers, const Status& cause) {
  std::vector<ProducerSpan> lost;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    for (const AttachedProducers& range : options_.sources[source].attachment.producers) {
      const ProducerSpan common{std::max(range.span.begin, producers.begin),
                                std::min(range.span.end, producers.end)};
      if (common.begin >= common.end) continue;
      for (const ProducerSpan& open : ended_.missing_in(common)) {
        for (const ProducerSpan& span : lost_.missing_in(open)) lost.push_back(span);
      }
    }
    for (const ProducerSpan& span : lost) lost_.add(span);
  }
  if (!options_.on_loss) return;
  for (const ProducerSpan& span : lost) {
    options_.on_loss(ChannelLoss{options_.dataset, span.begin, span.end,
                                 options_.sources[source].task_manager, cause});
  }
}

void GateInbox::on_source_lost(size_t source, const Status& cause) {
  on_lost(source, ProducerSpan{0, UINT32_MAX}, cause);
}

void GateInbox::on_ready(const std::shared_ptr<PartitionQueues>& partition) {
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    arrivals_.ready.push_back(partition);
    woken = note_arrival();
  }
  wake_if(woken);
}

void GateInbox::on_local_ended(uint32_t producer) {
  bool woken = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    ended_.add({producer, producer + 1});
    arrivals_.ended.push_back({producer, producer + 1});
    woken = note_arrival();
  }
  wake_if(woken);
}

bool GateInbox::note_arrival() { return !pending_.exchange(true, std::memory_order_acq_rel); }

void GateInbox::wake_if(bool needed) const {
  if (needed && options_.wake) options_.wake();
}

GateInbox::Arrivals GateInbox::take() {
  MutexLock lock(mutex_);
  pending_.store(false, std::memory_order_release);
  return std::exchange(arrivals_, Arrivals());
}

void GateInbox::note_ended(uint32_t producer) {
  MutexLock lock(mutex_);
  ended_.add({producer, producer + 1});
}

void GateInbox::add_credit(const std::vector<CreditReturn>& credits) {
  MutexLock lock(mutex_);
  for (const CreditReturn& credit : credits)
    channels_[credit.producer].credit_bytes += credit.bytes;
}

void GateInbox::close() {
  Arrivals dropped;
  MutexLock lock(mutex_);
  closed_ = true;
  dropped = std::exchange(arrivals_, Arrivals());
}

}  // namespace freshet
