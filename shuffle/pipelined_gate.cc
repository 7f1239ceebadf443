#include "shuffle/pipelined_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "shuffle/prefetch.h"

namespace freshet {

namespace {

// Credit is returned when so much came together, and always before the task finds nothing to do.
constexpr uint64_t kCreditBatchBytes = 32u << 10;
constexpr size_t kCreditBatchEntries = 128;

constexpr size_t kPrefetchDistance = 8;
constexpr size_t kTurnsAhead = 3;
constexpr size_t kKeptBlocksMax = 32;

}  // namespace

GateReader::GateReader(Options options)
    : options_(std::move(options)), channels_(options_.producers_end) {
  shared_.fixed_record_size = options_.fixed_record_size;
  shared_.hash = options_.hash;
  shared_.may_lack_hash = options_.may_lack_hash;
}

GateChannel& GateReader::channel(uint32_t producer) {
  if (GateChannel* existing = channels_.find(producer)) [[likely]]
    return *existing;
  std::shared_ptr<const GateInbox::Source> source = options_.inbox->source_of(producer);
  CHECK(source != nullptr);  // The inbox lets no other through.
  return channels_.create(producer, &shared_, std::move(source),
                          position_of(options_.start, producer));
}

void GateReader::add(uint32_t producer, Buffer buffer) {
  GateChannel& to = channel(producer);
  if (!to.status().ok()) return;
  to.push(std::move(buffer));
  if (to.listed) return;
  to.listed = true;
  turns_.push_back(&to);
}

bool GateReader::absorb() {
  if (!options_.inbox->has_arrivals()) return false;
  options_.inbox->take(&arrivals_);
  for (size_t i = 0; i < arrivals_.buffers.size(); ++i) {
    if (i + kPrefetchDistance < arrivals_.buffers.size())
      prefetch_channel(arrivals_.buffers[i + kPrefetchDistance].producer);
    GateInbox::Arrived& arrived = arrivals_.buffers[i];
    add(arrived.producer, std::move(arrived.buffer));
  }
  take_all_local();
  add_ended(arrivals_.ended);
  if (arrivals_.credit_to_grant) grant_credit();
  arrivals_.clear();
  return true;
}

void GateReader::take_all_local() {
  // With many channels, none of them is in a cache.
  std::vector<GateInbox::ReadyChannel>& ready = arrivals_.ready;
  for (size_t i = 0; i < ready.size(); ++i) {
    if (i + kPrefetchDistance < ready.size()) {
      const GateInbox::ReadyChannel& soon = ready[i + kPrefetchDistance];
      prefetch_bytes(soon.channel, sizeof(QueuedChannel));
      soon.partition->prefetch();
      prefetch_channel(soon.producer);
    }
    take_local(ready[i]);
    ready[i].partition = nullptr;  // While it is here.
  }
}

void GateReader::take_local(const GateInbox::ReadyChannel& ready) {
  const uint32_t producer = ready.producer;
  const PartitionQueues::Taken taken =
      ready.partition->take(ready.channel, options_.local_reader(channel(producer).source()),
                            UINT64_MAX, UINT64_MAX, &local_buffers_);
  for (Buffer& buffer : local_buffers_) add(producer, std::move(buffer));
  local_buffers_.clear();
  if (!taken.ended || failed_.contains(producer)) return;
  options_.inbox->note_ended(producer);
  const ProducerSpan span{producer, producer + 1};
  add_ended({&span, 1});
}

void GateReader::add_ended(std::span<const ProducerSpan> spans) {
  if (failed_.empty()) return ended_.add_all(spans);
  // What failed is not complete, whatever its producer says.
  for (const ProducerSpan& span : spans) ended_.add_all(failed_.missing_in(span));
}

bool GateReader::prepare(GateChannel* channel) {
  const bool ready = channel->prepare();
  if (shared_.freed_bytes != 0) collect_credit(*channel);
  if (!channel->status().ok()) [[unlikely]]
    fail(channel, channel->status());
  return ready;
}

void GateReader::fail(GateChannel* channel, const Status& cause) {
  const uint32_t producer = channel->producer();
  channel->discard();
  ended_.remove({producer, producer + 1});
  if (failed_.add({producer, producer + 1}) == 0) return;
  options_.inbox->fail(producer, cause);
  options_.refuse(channel->source(), cause);
}

void GateReader::collect_credit(const GateChannel& channel) {
  const uint32_t bytes = std::exchange(shared_.freed_bytes, 0);
  if (channel.source().local) return;
  // Many small ones are of many channels, of which none waits long for just its own.
  if (bytes > kSmallBlockBytes) credit_bytes_ += bytes;
  credits_.push_back({static_cast<uint32_t>(channel.source().index), channel.producer(), bytes});
  if (credit_bytes_ >= kCreditBatchBytes || credits_.size() >= kCreditBatchEntries) flush_credit();
}

void GateReader::flush_credit() {
  if (credits_.empty()) return;
  credit_bytes_ = 0;
  std::vector<CreditReturn> credits = std::exchange(credits_, {});
  options_.inbox->add_credit(&credits);
  if (credits.empty()) return;
  options_.return_credit(std::move(credits));
}

void GateReader::grant_credit() {
  std::vector<CreditReturn> credits;
  options_.inbox->add_credit(&credits);
  if (!credits.empty()) options_.return_credit(std::move(credits));
}

std::optional<uint32_t> GateReader::next_ready() {
  do {
    while (!turns_.empty()) {
      GateChannel* first = turns_.front();
      if (prepare(first)) return first->producer();
      first->listed = false;
      turns_.pop_front();
    }
  } while (absorb());
  rest();
  return std::nullopt;
}

void GateReader::ready(std::vector<uint32_t>* producers) {
  producers->clear();
  absorb();
  for (size_t i = turns_.size(); i > 0; --i) {
    GateChannel* first = turns_.front();
    turns_.pop_front();
    if (prepare(first)) {
      producers->push_back(first->producer());
      turns_.push_back(first);
    } else {
      first->listed = false;
    }
  }
  if (producers->empty()) rest();
}

void GateReader::rest() {
  drop_blocks();  // Producers may wait for just these.
  flush_credit();
}

void GateReader::drop_views() {
  shared_.viewed = nullptr;
  if (shared_.kept_blocks.empty()) return;
  // Small ones go together; a large one goes while it is warm.
  const bool large = shared_.kept_blocks.back()->capacity() > kSmallBlockBytes;
  if (large || shared_.kept_blocks.size() >= kKeptBlocksMax) drop_blocks();
}

void GateReader::drop_blocks() {
  shared_.viewed = nullptr;
  if (!shared_.kept_blocks.empty()) Block::let_go_all(&shared_.kept_blocks);
}

std::optional<Element> GateReader::take_from(uint32_t producer) {
  drop_views();
  if (producer >= options_.producers_end) return std::nullopt;
  GateChannel* from = channels_.find(producer);
  if (from == nullptr || !prepare(from)) {
    if (absorb()) {
      from = channels_.find(producer);
      if (from != nullptr && prepare(from)) return take_from(producer);
    }
    flush_credit();
    return std::nullopt;
  }
  const Element element = from->take();
  after_taking(from);
  return element;
}

void GateReader::after_taking(GateChannel* from) {
  if (!from->at_buffer_start()) [[likely]]
    return;
  if (shared_.freed_bytes != 0) collect_credit(*from);
  // The end of a buffer is the end of the turn.
  if (turns_.size() > 1 && turns_.front() == from) {
    turns_.pop_front();
    turns_.push_back(from);
    if (turns_.size() > 2 * kTurnsAhead) {
      turns_[2 * kTurnsAhead]->prefetch_state();
      turns_[kTurnsAhead]->prefetch();
    }
  }
}

std::optional<RecordRun> GateReader::begin_run(uint32_t producer, uint32_t records_max,
                                               const bool* stop) {
  drop_views();
  GateChannel* from = producer < options_.producers_end ? channels_.find(producer) : nullptr;
  if (from == nullptr || !prepare(from)) return std::nullopt;
  return from->begin_run(records_max, stop);
}

void GateReader::end_run(uint32_t producer, const RecordRun& run) {
  GateChannel* from = channels_.find(producer);
  CHECK(from != nullptr);
  from->end_run(run);
  after_taking(from);
}

bool GateReader::ended() {
  if (ended_.size() != options_.producer_count && !options_.inbox->has_arrivals()) return false;
  if (next_ready().has_value() || ended_.size() != options_.producer_count) return false;
  bool complete = true;
  channels_.for_each([&](uint32_t producer, GateChannel& channel) {
    if (!channel.inside_element()) return;
    fail(&channel, data_loss(fmt::format("producer {} ended inside an element", producer)));
    complete = false;
  });
  return complete;
}

std::vector<ChannelPosition> GateReader::positions() const {
  std::vector<ChannelPosition> positions;
  channels_.for_each(
      [&](uint32_t, const GateChannel& channel) { positions.push_back(channel.position()); });
  return with_start(positions, options_.start);
}

void GateReader::move_to(const std::shared_ptr<const GateInbox::Source>& source) {
  flush_credit();
  const Attachment& attachment = source->attachment;
  channels_.for_each([&](uint32_t producer, GateChannel& channel) {
    if (attachment.find(producer) != nullptr) channel.move_to(source);
  });
  for (const AttachedProducers& range : attachment.producers) {
    ended_.remove(range.span);
    failed_.remove(range.span);
  }
}

void GateReader::drop_all() {
  turns_.clear();
  channels_.clear();
  shared_.kept_blocks.clear();
  shared_.waiting_buffers.clear();
  shared_.waiting_bytes.clear();
  shared_.waiting_payload.clear();
  credits_.clear();
}

Status PipelinedGate::check_producers(const Options& options) {
  uint32_t end = 0;
  for (const ProducerRange& range : options.producers) {
    if (range.begin < end || range.begin >= range.end ||
        range.location >= options.locations.size()) {
      return invalid_argument(fmt::format("producers {} to {} of a gate", range.begin, range.end));
    }
    end = range.end;
  }
  return Status();
}

Result<std::shared_ptr<PipelinedGate>> PipelinedGate::create(const Options& options,
                                                             Context context) {
  if (Status status = check_producers(options); !status.ok()) {
    if (context.on_release) context.on_release();
    return status;
  }
  auto gate = std::make_shared<PipelinedGate>(options, std::move(context));
  if (Status status = gate->attach_all(); !status.ok()) {
    gate->release();
    return status;
  }
  return gate;
}

PipelinedGate::PipelinedGate(const Options& options, Context context)
    : options_(options),
      context_(std::move(context)),
      inbox_(std::make_shared<GateInbox>(GateInbox::Options{options.dataset, context_.pool,
                                                            context_.receive.floating_bytes,
                                                            options.wake, options.on_loss})) {
  GateReader::Options reader;
  reader.fixed_record_size = options.fixed_record_size;
  reader.hash = options.hash;
  reader.may_lack_hash = options.blocking;
  reader.start = options.start;
  for (const ProducerRange& range : options.producers)
    reader.producer_count += range.end - range.begin;
  reader.producers_end = options.producers.empty() ? 0 : options.producers.back().end;
  reader.inbox = inbox_;
  reader.local_reader = [this](const GateInbox::Source& source) {
    return ways_[source.index].local.get();
  };
  reader.return_credit = [this](std::vector<CreditReturn> credits) {
    return_credit(std::move(credits));
  };
  reader.refuse = [this](const GateInbox::Source& source, const Status& cause) {
    refuse(source, cause);
  };
  reader_ = std::make_unique<GateReader>(std::move(reader));
}

PipelinedGate::~PipelinedGate() { CHECK(released_); }

std::shared_ptr<GateInbox::Source> PipelinedGate::make_source(
    const ProducerLocation& location, std::vector<AttachedProducers> producers,
    const std::vector<ChannelPosition>& positions) {
  auto source = std::make_shared<GateInbox::Source>();
  source->task_manager = location.task_manager;
  source->local = location.task_manager == context_.self;
  Attachment& attachment = source->attachment;
  attachment.job = options_.job;
  attachment.dataset = options_.dataset;
  attachment.subpartition = options_.subpartition;
  attachment.consumer = options_.consumer;
  attachment.credit_bytes = source->local ? 0 : context_.receive.window_bytes;
  attachment.stored = options_.stored;
  attachment.producers = std::move(producers);
  for (const ChannelPosition& position : positions) {
    if (attachment.find(position.peer) == nullptr) continue;
    attachment.positions.push_back({position.peer, position.elements, position.hash});
  }
  return source;
}

Status PipelinedGate::attach_all() {
  std::vector<std::vector<AttachedProducers>> by_location(options_.locations.size());
  for (const ProducerRange& range : options_.producers)
    by_location[range.location].push_back({{range.begin, range.end}, range.attempt});
  for (size_t i = 0; i < by_location.size(); ++i) {
    if (by_location[i].empty()) continue;
    const ProducerLocation& location = options_.locations[i];
    const auto source = make_source(location, std::move(by_location[i]), options_.start);
    const Status status = attach(location, source);
    // That a peer is away is no reason to fail: it is reported as its channels' loss.
    if (status.code() == StatusCode::kUnavailable) {
      inbox_->on_source_lost(*source, status);
    } else {
      RETURN_IF_ERROR(status);
    }
  }
  return Status();
}

Status PipelinedGate::attach(const ProducerLocation& location,
                             const std::shared_ptr<GateInbox::Source>& source) {
  const auto idle = inbox_->add(source);
  CHECK(source->index == ways_.size());
  Way& way = ways_.emplace_back();
  reader_->move_to(source);
  for (const auto& former : idle) detach(&ways_[former->index]);
  if (source->local) {
    way.local = std::make_shared<LocalReader>(inbox_, source);
    return context_.index->attach(way.local);
  }
  ASSIGN_OR_RETURN(way.remote, context_.connect(location, inbox_, source));
  return Status();
}

Status PipelinedGate::reattach(const Move& move) {
  ProducerSet producers;
  for (const ProducerRange& range : options_.producers) producers.add({range.begin, range.end});
  const ProducerSpan span{move.begin, move.end};
  if (move.begin >= move.end || !producers.missing_in(span).empty())
    return invalid_argument(fmt::format("producers {} to {} of a gate", move.begin, move.end));
  const Status status = attach(
      move.location, make_source(move.location, {{span, move.attempt}}, reader_->positions()));
  if (!status.ok()) inbox_->on_lost(*inbox_->source_of(move.begin), span, status);
  return Status();
}

void PipelinedGate::detach(Way* way) {
  if (way->local) context_.index->detach(*way->local);
  if (way->remote.peer) way->remote.peer->detach(way->remote.attachment);
  *way = Way();
}

void PipelinedGate::return_credit(std::vector<CreditReturn> credits) {
  if (ways_.size() > 1) std::ranges::stable_sort(credits, {}, &CreditReturn::attachment);
  for (auto begin = credits.begin(); begin != credits.end();) {
    const uint32_t source = begin->attachment;
    const Remote& remote = ways_[source].remote;
    auto end = begin;
    for (; end != credits.end() && end->attachment == source; ++end)
      end->attachment = remote.attachment;
    if (remote.peer) remote.peer->give_credit({begin, end});
    begin = end;
  }
}

void PipelinedGate::refuse(const GateInbox::Source& source, const Status& cause) {
  if (const Remote& remote = ways_[source.index].remote; remote.peer) remote.peer->refuse(cause);
}

InputGate::Load PipelinedGate::load() const {
  const auto part = [](uint64_t of, uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(of) / static_cast<double>(all);
  };
  const GateInbox::Load inbox = inbox_->load();
  const ReceiveMemory& receive = context_.receive;
  Load load;
  load.buffers = inbox.buffers + reader_->waiting_buffers();
  load.bytes = inbox.payload_bytes + reader_->waiting_payload();
  const uint64_t used = inbox.receive_bytes + reader_->waiting_bytes();
  load.pool_usage = part(used, receive.reserved_bytes);
  load.floating_usage = part(inbox.floating_lent_bytes, receive.floating_bytes);
  // Who is lent something has used up its own; that comes back first.
  const uint64_t own = receive.reserved_bytes - receive.floating_bytes;
  load.exclusive_usage = part(std::min(used - std::min(used, inbox.floating_lent_bytes), own), own);
  return load;
}

void PipelinedGate::release() {
  if (released_) return;
  released_ = true;
  for (Way& way : ways_) detach(&way);
  inbox_->close();
  reader_->drop_all();
  if (context_.on_release) context_.on_release();
}

}  // namespace freshet
