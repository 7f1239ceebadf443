#include "shuffle/pipelined_partition.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

// Memory of one queued event in one channel, about.
constexpr uint64_t kEventChargeBytes = 64;
constexpr uint32_t kChannelsAhead = 8;
constexpr uint64_t kPayBackBytes = 1u << 20;  // At once.
// Of closed buffers: a large one goes at once, small ones together.
constexpr uint64_t kHandedOverBytes = kLargeBlockBytes / 2;

/// Of its `number`-th file: the one before may still have to be removed.
std::string spill_file_name(const PartitionQueues& partition, uint64_t number) {
  return fmt::format("job-{}-dataset-{}-producer-{}-attempt-{}-{}.spill",
                     partition.job().to_string(), partition.dataset().value, partition.producer(),
                     partition.attempt(), number);
}

}  // namespace

Result<std::shared_ptr<ResultPartition>> PipelinedPartition::create(const Options& options,
                                                                    Context context) {
  auto partition = std::make_shared<PipelinedPartition>(options, std::move(context));
  if (Status status = partition->context_.index->add_partition(partition->queues_); !status.ok()) {
    partition->released_ = true;
    return status;
  }
  return std::shared_ptr<ResultPartition>(std::move(partition));
}

PipelinedPartition::PipelinedPartition(const Options& options, Context context)
    : ResultPartition(options.subpartitions),
      context_(std::move(context)),
      subpartitions_(options.subpartitions),
      account_(std::make_shared<MemoryAccount>(context_.claim, context_.shares, options.wake)),
      queues_(std::make_shared<PartitionQueues>(PartitionQueues::Options{
          options.job, options.dataset, options.producer, options.attempt, options.subpartitions,
          options.fixed_record_size, options.hash, options.start, options.retained_bytes_max})),
      shared_{context_.pool,
              account_,
              {context_.pool, account_},
              options.fixed_record_size,
              options.hash,
              options.log_position,
              0,
              {},
              0,
              [this] { hand_over(); },
              0,
              0},
      channels_(options.subpartitions),
      wake_(options.wake) {}

PipelinedPartition::~PipelinedPartition() { CHECK(released_); }

ChannelWriter& PipelinedPartition::channel(uint32_t subpartition) {
  if (ChannelWriter* existing = channels_.find(subpartition)) [[likely]]
    return *existing;
  return make_channel(subpartition);
}

ChannelWriter& PipelinedPartition::make_channel(uint32_t subpartition) {
  CHECK(!to_all_ || subpartition == 0);
  ++shared_.channels;  // See ChannelWriter::block_bytes_max.
  shared_.fair_bytes = 0;
  account_->raise_budget(shared_.channels * 2 * kSmallBlockBytes);
  PartitionQueues::Channel* const queue = context_.index->create_channel(queues_, subpartition);
  if (to_all_) {
    all_.push_back(queue);
    for (uint32_t s = 1; s < subpartitions_; ++s)
      all_.push_back(context_.index->create_channel(queues_, s));
  }
  return channels_.create(subpartition, &shared_, make_open_block(subpartition), subpartition,
                          queue, queues_->start_of(subpartition));
}

void PipelinedPartition::write_to_all() {
  CHECK(shared_.channels == 0);
  to_all_ = true;
  shared_.readers = &all_;
}

void PipelinedPartition::fan_out(std::vector<PartitionQueues::Pushed>* buffers) {
  to_be_copied_.swap(*buffers);
  for (const PartitionQueues::Pushed& one : to_be_copied_) {
    for (uint32_t s = 0; s < subpartitions_; ++s) buffers->push_back({s, all_[s], one.buffer});
  }
  to_be_copied_.clear();
}

void PipelinedPartition::note_space() {
  if (available()) [[likely]]
    return;
  // What is wanted back must be given away first.
  shared_.reserve.give_back();
  hand_over();
  if (full_ != nullptr && !available()) *full_ = true;
}

Encoder& PipelinedPartition::begin_record(uint32_t subpartition, EpochMillis timestamp) {
  CHECK(subpartition < subpartitions_ && current_ == nullptr && !ended_);
  // Of channels that are filled in turn the next ones come here soon.
  prefetch_channel(subpartition + kChannelsAhead);
  current_ = &channel(subpartition);
  timestamp_ = timestamp;
  current_->begin_record(timestamp, &encoder_);
  return encoder_;
}

void PipelinedPartition::end_record() {
  CHECK(current_ != nullptr);
  current_->end_record(timestamp_, encoder_.bytes());
  if (current_->has_block()) flush_lists_.note_written(current_);
  current_ = nullptr;
  if (shared_.closed_bytes >= kHandedOverBytes) hand_over();
  note_space();
  const bool cancelled = cancelled_ != nullptr && cancelled_->load(std::memory_order_acquire);
  if (cancelled || !status_.ok()) [[unlikely]]
    throw WriteAbandoned();
}

void PipelinedPartition::broadcast_event(ElementKind kind, std::string_view payload) {
  CHECK(current_ == nullptr && kind != ElementKind::kRecord && kind != ElementKind::kEndOfData &&
        !ended_);
  const auto size = static_cast<uint32_t>(payload.size() + 1);
  const BlockRef event = Block::on_heap(
      size, account_, (kEventChargeBytes + size) * static_cast<uint64_t>(subpartitions_));
  event->data()[0] = static_cast<char>(kind);
  std::memcpy(event->data() + 1, payload.data(), payload.size());
  const uint32_t writers = to_all_ ? 1 : subpartitions_;
  for (uint32_t s = 0; s < writers; ++s) channel(s).append_event(kind, event, size);
  hand_over();
  note_space();
}

void PipelinedPartition::end_step() {
  hand_over();
  shared_.reserve.give_back();
  shared_.fair_bytes = 0;
  ++shared_.step;
}

template <class Condition>
void PipelinedPartition::flush_if(Condition condition) {
  flush_lists_.flush(condition, [this] {
    if (shared_.closed_bytes >= kHandedOverBytes) hand_over();
  });
  hand_over();
}

void PipelinedPartition::flush() {
  flush_if([](const ChannelWriter&) { return true; });
}

void PipelinedPartition::flush_older() {
  flush_if([this](const ChannelWriter& writer) { return !writer.was_cut_in(shared_.step); });
}

void PipelinedPartition::close_blocks() {
  channels_.for_each([](uint32_t, ChannelWriter& writer) { writer.close(); });
  flush_lists_.clear();
  hand_over();
}

void PipelinedPartition::hand_over() {
  if (shared_.closed.empty()) return;
  shared_.closed_bytes = 0;
  if (must_spill()) [[unlikely]] {
    spill();
  } else {
    push(&shared_.closed);
  }
}

bool PipelinedPartition::must_spill() const {
  if (!context_.spill) return false;
  return spill_ || !status_.ok() ||
         account_->held_bytes() > account_->budget_bytes() + context_.overdraft_bytes_max;
}

void PipelinedPartition::push(std::vector<PartitionQueues::Pushed>* buffers) {
  if (to_all_) fan_out(buffers);
  buffers_written_ += buffers->size();
  queues_->push(buffers, &calls_);
  tell(calls_);
  calls_.clear();
}

void PipelinedPartition::spill() {
  if (!spill_) {
    spill_ = std::make_unique<SpillFile>(
        FileQueue::Options{*context_.spill, spill_file_name(*queues_, spills_++), wake_});
    if (spills_ == 1) {
      LOG_INFO("output_spilled", {{"path", spill_->path()},
                                  {"held_bytes", account_->held_bytes()},
                                  {"budget_bytes", account_->budget_bytes()}});
    }
  }
  for (const PartitionQueues::Pushed& item : shared_.closed) {
    if (status_.ok()) status_ = spill_->append(item.subpartition, item.buffer, cancelled_);
  }
  shared_.closed.clear();
}

void PipelinedPartition::close_large_blocks() {
  // The budget may have become less since they were opened; what they hold alone nobody would give
  // back.
  if (shared_.open_large == 0 || shared_.open_bytes < account_->budget_bytes() / 2) return;
  shared_.fair_bytes = 0;
  channels_.for_each([](uint32_t, ChannelWriter& writer) { writer.close_if_too_large(); });
  hand_over();
}

bool PipelinedPartition::pay_back() {
  if (!spill_) close_large_blocks();
  if (!spill_ || !status_.ok()) return false;
  // What is held is in the queues then, and comes back by itself.
  if (shared_.open_bytes != 0) close_blocks();
  uint64_t bytes = 0;
  bool is_read = true;
  while (!spill_->empty() && bytes < kPayBackBytes && is_read && account_->available()) {
    const Result<bool> brought = bring_back(&bytes);
    status_ = brought.status();
    is_read = brought.ok() && *brought;
  }
  if (!returning_.empty()) push(&returning_);
  if (!spill_->empty()) return is_read && account_->available();
  waited_ += spill_->waited();
  spill_ = nullptr;
  if (ended_) announce_end();
  return false;
}

Result<bool> PipelinedPartition::bring_back(uint64_t* bytes) {
  ASSIGN_OR_RETURN(std::optional<SpillFile::Taken> next, spill_->take());
  if (!next) return false;
  SpillFile::Taken& taken = *next;
  Buffer& buffer = taken.buffer;
  const ChannelWriter* writer =
      taken.subpartition < subpartitions_ ? channels_.find(taken.subpartition) : nullptr;
  if (writer == nullptr || (!buffer.event && buffer.size > kLargeBlockBytes))
    return data_loss(spill_->path() + ": a buffer that was never written");
  const BlockRef block =
      buffer.event
          ? Block::on_heap(buffer.size, account_, (kEventChargeBytes + buffer.size) * copies())
          : Block::allocate(*context_.pool, block_bytes_for(buffer.size), account_);
  std::memcpy(block->data(), taken.bytes.data(), taken.bytes.size());
  block->hand_over();
  buffer.block = block;
  buffer.data = block->data();
  *bytes += buffer.size;
  returning_.push_back({taken.subpartition, writer->queue(), std::move(buffer)});
  return true;
}

void PipelinedPartition::end_of_data() {
  if (ended_) return;
  close_blocks();
  shared_.reserve.give_back();
  ended_ = true;
  if (!spill_) announce_end();
}

void PipelinedPartition::announce_end() {
  if (status_.ok()) context_.index->end_partition(queues_);
}

std::vector<ChannelPosition> PipelinedPartition::positions() const {
  std::vector<ChannelPosition> positions;
  channels_.for_each([&](uint32_t subpartition, const ChannelWriter& writer) {
    for (uint32_t copy = 0; copy < copies(); ++copy)
      positions.push_back({subpartition + copy, writer.elements(), writer.hash()});
  });
  return with_start(positions, queues_->start());
}

void PipelinedPartition::release() {
  if (released_) return;
  released_ = true;
  account_->close();
  context_.index->remove_partition(queues_);
  flush_lists_.clear();
  channels_.clear();  // Open blocks go.
  shared_.closed.clear();
  shared_.reserve.give_back();
  spill_ = nullptr;
  if (context_.on_release) context_.on_release();
}

}  // namespace freshet
