#include "shuffle/blocking_partition.h"

#include <algorithm>
#include <utility>

#include "network/frame.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace freshet {

namespace {

constexpr size_t kFilledMin = 64;

PartitionFileWriter::Options file_options(const ResultPartition::Options& options,
                                          const BlockingPartition::Context& context) {
  return {{context.place, context.file_name, options.wake},
          context.codec,
          options.subpartitions,
          options.fixed_record_size,
          false};
}

}  // namespace

BlockingPartition::BlockingPartition(const Options& options, Context context)
    : ResultPartition(options.subpartitions),
      options_(options),
      context_(std::move(context)),
      account_(std::make_shared<MemoryAccount>(context_.claim, context_.shares, [] {})),
      file_(std::make_unique<PartitionFileWriter>(file_options(options_, context_))),
      shared_{{context_.pool, account_}, options_.fixed_record_size, {}, [this] { end_region(); }},
      channels_(options_.subpartitions) {
  CHECK(context_.claim.guaranteed_bytes >= RegionBuffer::kLeastBytes);
}

BlockingPartition::~BlockingPartition() { CHECK(released_); }

void BlockingPartition::watch(bool* full, const std::atomic<bool>* cancelled) {
  full_ = full;
  cancelled_ = cancelled;
  file_->watch(cancelled);
}

const Status& BlockingPartition::status() const {
  if (status_.ok() && file_) {
    if (const std::optional<Status> outcome = file_->outcome()) status_ = *outcome;
  }
  return status_;
}

void BlockingPartition::note(const Status& status) {
  if (status_.ok()) status_ = status;
}

BlockingChannel& BlockingPartition::channel(uint32_t subpartition) {
  CHECK(subpartition < options_.subpartitions && !ended_);
  if (BlockingChannel* channel = channels_.find(subpartition)) return *channel;
  return channels_.create(subpartition, &shared_, make_open_block(subpartition), subpartition,
                          untouched_);
}

Encoder& BlockingPartition::begin_record(uint32_t subpartition, EpochMillis timestamp) {
  writing_ = &channel(subpartition);
  writing_->begin_record(timestamp);
  timestamp_ = timestamp;
  encoder_.start(&no_room_, &no_room_);  // In memory of its own.
  return encoder_;
}

void BlockingPartition::end_record() {
  writing_->end_record(timestamp_, encoder_.bytes());
  const bool cancelled = cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
  if (cancelled || !status_.ok()) throw WriteAbandoned();
}

void BlockingPartition::write_to_all() {
  CHECK(file_->file_bytes() == 0 && shared_.written.empty());
  to_all_ = true;
  file_->set_to_all();
}

void BlockingPartition::write_block(uint32_t subpartition, const RegionChunk* first,
                                    const RegionChunk* end) {
  BlockHeader header;
  header.subpartition = subpartition;
  header.first_element = first->first_element;
  for (const RegionChunk* chunk = first; chunk != end; chunk = chunk->next) {
    parts_.emplace_back(chunk->data(), chunk->size);
    if (header.elements_started == 0) header.tail_bytes += chunk->tail_bytes;
    header.elements_started += chunk->elements_started;
    header.hash = chunk->hash;
    // Within a block it does not matter where an element was cut.
    const auto inside = static_cast<uint8_t>(kFrameStartsWithTail | kFrameEndsIncomplete);
    header.flags |= static_cast<uint8_t>(chunk->flags & ~inside);
    if (chunk == first) header.flags |= chunk->flags & kFrameStartsWithTail;
    if (chunk->next == end) header.flags |= chunk->flags & kFrameEndsIncomplete;
  }
  if (status_.ok()) note(file_->put(header, parts_));
  parts_.clear();
  ++blocks_;
}

void BlockingPartition::write_chunks(BlockingChannel* channel) {
  const uint32_t subpartition = to_all_ ? kAllSubpartitions : channel->subpartition();
  const RegionChunk* first = channel->take_chunks();
  while (first != nullptr) {
    const RegionChunk* end = first;
    uint32_t bytes = 0;
    // Elements of one block have timestamps, all of them or none.
    const RegionChunk* with_elements = nullptr;
    const auto fits = [&](const RegionChunk* chunk) {
      const bool same = with_elements == nullptr || chunk->elements_started == 0 ||
                        ((with_elements->flags ^ chunk->flags) & kFrameHasTimestamps) == 0;
      return same && bytes + chunk->size <= kBlockPayloadMax;
    };
    while (end != nullptr && fits(end)) {
      bytes += end->size;
      if (end->elements_started != 0) with_elements = end;
      end = end->next;
    }
    write_block(subpartition, first, end);
    first = end;
  }
}

void BlockingPartition::end_region() {
  std::vector<BlockingChannel*>& written = shared_.written;
  if (!to_all_ && !written.empty()) note(file_->end_region());  // Of events, if there were any.
  std::sort(written.begin(), written.end(),
            [](const auto* a, const auto* b) { return a->subpartition() < b->subpartition(); });
  // Consumers read the partitions of many producers in their order: not all in the same place.
  const auto turn = static_cast<uint32_t>(hash_words(options_.producer, 0, sizeof(uint32_t)) %
                                          options_.subpartitions);
  const auto first = std::find_if(written.begin(), written.end(), [turn](const BlockingChannel* c) {
    return c->subpartition() >= turn;
  });
  std::rotate(written.begin(), first, written.end());
  for (BlockingChannel* channel : written) write_chunks(channel);
  if (!written.empty() && status_.ok()) note(file_->end_region());
  written.clear();
  shared_.memory.clear();
  if (full_ != nullptr && !available()) *full_ = true;
}

void BlockingPartition::broadcast_event(ElementKind kind, std::string_view payload) {
  CHECK(!ended_ && kind != ElementKind::kRecord && kind != ElementKind::kEndOfData &&
        kind != ElementKind::kBarrier);
  end_region();
  BlockHeader header;
  header.subpartition = kAllSubpartitions;
  header.event = 1;
  header.elements_started = 1;
  if (to_all_) {
    BlockingChannel& all = channel(0);
    header.first_element = all.elements();
    all.count_event(kind, payload);
    header.hash = all.hash();
  } else {
    channels_.for_each([&](uint32_t, BlockingChannel& each) { each.count_event(kind, payload); });
    ++untouched_.elements;
    untouched_.hash = rolling_hash(untouched_.hash, kind, kNoTimestamp, payload);
  }
  const char first = static_cast<char>(kind);
  const std::string_view parts[] = {{&first, 1}, payload};
  if (status_.ok()) note(file_->put(header, parts));
}

uint64_t BlockingPartition::hash() const {
  uint64_t hash = hash_combine(options_.subpartitions, to_all_ ? 1 : 0);
  channels_.for_each([&](uint32_t subpartition, const BlockingChannel& channel) {
    hash = hash_combine(hash, subpartition);
    hash = hash_combine(hash, channel.elements());
    hash = hash_combine(hash, channel.hash());
  });
  return hash_combine(hash_combine(hash, untouched_.elements), untouched_.hash);
}

void BlockingPartition::end_of_data() {
  if (ended_) return;
  end_region();
  ended_ = true;
  if (status().ok()) note(file_->finish(hash()));
}

std::optional<Result<PublishedPartition>> BlockingPartition::published() const {
  if (!status().ok()) return Result<PublishedPartition>(status_);
  if (!ended_ || !file_ || !file_->outcome()) return std::nullopt;
  return Result<PublishedPartition>(PublishedPartition{
      file_->path(), file_->file_bytes(), file_->footer().hash, file_->footer().elements});
}

bool BlockingPartition::handed_over() {
  if (handed_over_) return true;
  const auto published = this->published();
  if (!published || !published->ok()) return false;
  if (context_.on_published) note(context_.on_published(**published, filled()));
  handed_over_ = status_.ok();
  return handed_over_;
}

std::optional<uint64_t> BlockingPartition::stored_hash() const {
  if (!handed_over_) return std::nullopt;
  return footer().hash;
}

std::optional<std::vector<uint32_t>> BlockingPartition::filled() const {
  if (to_all_ || untouched_.elements != 0) return std::nullopt;
  std::vector<uint32_t> filled;
  channels_.for_each([&](uint32_t subpartition, const BlockingChannel& channel) {
    if (channel.elements() != 0) filled.push_back(subpartition);
  });
  // To know it of each would cost more than to look for the few that have nothing.
  if (filled.size() > kFilledMin && 2 * filled.size() > options_.subpartitions) return std::nullopt;
  return filled;
}

std::vector<ChannelPosition> BlockingPartition::positions() const {
  std::vector<ChannelPosition> positions;
  channels_.for_each([&](uint32_t subpartition, const BlockingChannel& channel) {
    for (uint32_t copy = 0; copy < copies(); ++copy)
      positions.push_back({subpartition + copy, channel.elements(), channel.hash()});
  });
  return positions;
}

double BlockingPartition::pool_usage() const {
  const auto budget = static_cast<double>(account_->budget_bytes());
  return budget == 0 ? 0 : static_cast<double>(account_->held_bytes()) / budget;
}

void BlockingPartition::release() {
  if (released_) return;
  released_ = true;
  for (BlockingChannel* channel : shared_.written) (void)channel->take_chunks();
  shared_.written.clear();
  shared_.memory.clear();
  account_->close();
  footer_ = file_->footer();
  waited_ = file_->waited();
  file_ = nullptr;  // What is not published is removed.
  if (context_.on_release) context_.on_release();
}

}  // namespace freshet
