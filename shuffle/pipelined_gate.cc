#include "shuffle/pipelined_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace freshet {

namespace {

// Credit is returned when so much came together, and always before the task finds nothing to do.
constexpr uint64_t kCreditBatchBytes = 32u << 10;
constexpr size_t kCreditBatchEntries = 32;

}  // namespace

GateReader::GateReader(Options options)
    : options_(std::move(options)), channels_(options_.producers_end) {
  shared_.fixed_record_size = options_.fixed_record_size;
  shared_.hash = options_.hash;
}

GateChannel& GateReader::channel(uint32_t producer) {
  if (GateChannel* existing = channels_.find(producer)) [[likely]]
    return *existing;
  const size_t source = source_of(producer);
  CHECK(source < options_.inbox->sources().size());  // The inbox lets no other through.
  return channels_.create(producer, &shared_, source, position_of(options_.start, producer));
}

void GateReader::add(uint32_t producer, Buffer buffer) {
  GateChannel& to = channel(producer);
  to.push(std::move(buffer));
  if (to.listed) return;
  to.listed = true;
  turns_.push_back(&to);
}

bool GateReader::absorb() {
  if (!options_.inbox->has_arrivals()) return false;
  GateInbox::Arrivals arrivals = options_.inbox->take();
  for (GateInbox::Arrived& arrived : arrivals.buffers)
    add(arrived.producer, std::move(arrived.buffer));
  for (const auto& partition : arrivals.ready) take_local(partition);
  for (const ProducerSpan& span : arrivals.ended) ended_.add(span);
  if (status_.ok()) status_ = arrivals.failure;
  return true;
}

void GateReader::take_local(const std::shared_ptr<PartitionQueues>& partition) {
  const uint32_t producer = partition->producer();
  const PartitionQueues::Taken taken =
      partition->take(options_.local->attachment().subpartition, options_.local.get(), UINT64_MAX,
                      UINT64_MAX, &local_buffers_);
  for (Buffer& buffer : local_buffers_) add(producer, std::move(buffer));
  local_buffers_.clear();
  if (!taken.ended) return;
  options_.inbox->note_ended(producer);
  ended_.add({producer, producer + 1});
}

bool GateReader::prepare(GateChannel* channel) {
  const bool ready = channel->prepare();
  if (shared_.freed_bytes != 0) collect_credit(*channel);
  if (!channel->status().ok() && status_.ok()) status_ = channel->status();
  return ready && status_.ok();
}

size_t GateReader::source_of(uint32_t producer) const {
  const auto& sources = options_.inbox->sources();
  size_t source = 0;
  while (source < sources.size() && sources[source].attachment.find(producer) == nullptr) ++source;
  return source;
}

void GateReader::collect_credit(const GateChannel& channel) {
  const uint32_t bytes = std::exchange(shared_.freed_bytes, 0);
  const size_t source = channel.source();
  if (options_.inbox->sources()[source].attachment.credit_bytes == 0) return;  // In this process.
  credit_bytes_ += bytes;
  credits_.push_back({static_cast<uint32_t>(source), channel.producer(), bytes});
  if (credit_bytes_ >= kCreditBatchBytes || credits_.size() >= kCreditBatchEntries) flush_credit();
}

void GateReader::flush_credit() {
  if (credits_.empty()) return;
  credit_bytes_ = 0;
  const std::vector<CreditReturn> credits = std::exchange(credits_, {});
  options_.inbox->add_credit(credits);
  options_.return_credit(credits);
}

std::optional<uint32_t> GateReader::next_ready() {
  while (status_.ok()) {
    while (!turns_.empty()) {
      GateChannel* first = turns_.front();
      if (prepare(first)) return first->producer();
      if (!status_.ok()) return std::nullopt;
      first->listed = false;
      turns_.pop_front();
    }
    if (!absorb()) break;
  }
  flush_credit();
  return std::nullopt;
}

void GateReader::ready(std::vector<uint32_t>* producers) {
  producers->clear();
  absorb();
  for (size_t i = turns_.size(); i > 0 && status_.ok(); --i) {
    GateChannel* first = turns_.front();
    turns_.pop_front();
    if (prepare(first)) {
      producers->push_back(first->producer());
      turns_.push_back(first);
    } else {
      first->listed = false;
    }
  }
  if (!status_.ok()) producers->clear();
  if (producers->empty()) flush_credit();
}

std::optional<Element> GateReader::take_from(uint32_t producer) {
  shared_.viewed = nullptr;
  if (shared_.kept_block) [[unlikely]]
    shared_.kept_block = nullptr;
  if (producer >= options_.producers_end) return std::nullopt;
  GateChannel* from = channels_.find(producer);
  if (from == nullptr || !prepare(from)) {
    if (status_.ok() && absorb()) {
      from = channels_.find(producer);
      if (from != nullptr && prepare(from)) return take_from(producer);
    }
    flush_credit();
    return std::nullopt;
  }
  const Element element = from->take();
  if (from->at_buffer_start()) [[unlikely]] {
    if (shared_.freed_bytes != 0) collect_credit(*from);
    // The end of a buffer is the end of the turn.
    if (turns_.size() > 1 && turns_.front() == from) {
      turns_.pop_front();
      turns_.push_back(from);
    }
  }
  return element;
}

bool GateReader::ended() {
  if (ended_.size() != options_.producer_count && !options_.inbox->has_arrivals()) return false;
  if (next_ready().has_value() || !status_.ok() || ended_.size() != options_.producer_count)
    return false;
  channels_.for_each([&](uint32_t producer, const GateChannel& channel) {
    if (channel.inside_element() && status_.ok()) {
      status_ = data_loss(fmt::format("producer {} ended inside an element", producer));
    }
  });
  return status_.ok();
}

Status GateReader::status() {
  if (status_.ok()) absorb();
  return status_;
}

std::vector<ChannelPosition> GateReader::positions() const {
  std::vector<ChannelPosition> positions;
  channels_.for_each(
      [&](uint32_t, const GateChannel& channel) { positions.push_back(channel.position()); });
  return positions;
}

void GateReader::drop_all() {
  turns_.clear();
  channels_ = SparseArray<GateChannel>(options_.producers_end);
  shared_.kept_block = nullptr;
  credits_.clear();
}

PipelinedGate::PipelinedGate(GateReader::Options options, std::shared_ptr<DatasetIndex> index,
                             std::function<void()> on_release)
    : inbox_(options.inbox),
      local_(options.local),
      index_(std::move(index)),
      on_release_(std::move(on_release)) {
  options.return_credit = [this](const std::vector<CreditReturn>& credits) {
    return_credit(credits);
  };
  reader_ = std::make_unique<GateReader>(std::move(options));
}

PipelinedGate::~PipelinedGate() { CHECK(released_); }

void PipelinedGate::return_credit(const std::vector<CreditReturn>& credits) {
  if (remotes_.size() == 1) {
    std::vector<CreditReturn> named = credits;
    for (CreditReturn& credit : named) credit.attachment = remotes_[0].attachment;
    remotes_[0].peer->give_credit(named);
    return;
  }
  std::vector<std::vector<CreditReturn>> by_source(remotes_.size());
  for (const CreditReturn& credit : credits) {
    const size_t source = credit.attachment;
    by_source[source].push_back({remotes_[source].attachment, credit.producer, credit.bytes});
  }
  for (size_t source = 0; source < by_source.size(); ++source) {
    if (!by_source[source].empty()) remotes_[source].peer->give_credit(by_source[source]);
  }
}

void PipelinedGate::release() {
  if (released_) return;
  released_ = true;
  if (local_) index_->detach(*local_);
  for (const Remote& remote : remotes_) {
    if (remote.peer) remote.peer->detach(remote.attachment);
  }
  inbox_->close();
  reader_->drop_all();
  if (on_release_) on_release_();
}

}  // namespace freshet
