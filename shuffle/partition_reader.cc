#include "shuffle/partition_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "shuffle/element_layout.h"
#include "shuffle/file_elevator.h"
#include "shuffle/result_partition.h"
#include "shuffle/stored_block.h"

namespace freshet {

PartitionReader::PartitionReader(Options options, std::shared_ptr<FileElevator> elevator,
                                 std::shared_ptr<ReadPool> pool)
    : options_(std::move(options)),
      elevator_(std::move(elevator)),
      pool_(std::move(pool)),
      channels_(options_.count) {
  CHECK(options_.count > 0 && (options_.count == 1 || options_.next_element == 0));
  pool_->add_reader();
}

PartitionReader::~PartitionReader() { pool_->remove_reader(); }

void PartitionReader::close() {
  Fifo<Stored> dropped;
  ready_.clear();
  MutexLock lock(mutex_);
  closed_ = true;
  stored_bytes_ = 0;
  dropped.swap(stored_);
}

bool PartitionReader::ended() const {
  MutexLock lock(mutex_);
  return end_ && stored_.empty() && ready_.empty() && status_.ok();
}

uint64_t PartitionReader::waiting_bytes() const {
  MutexLock lock(mutex_);
  return stored_bytes_;
}

bool PartitionReader::wants() const {
  MutexLock lock(mutex_);
  return !closed_ && status_.ok() && !end_ && stored_bytes_ < pool_->read_ahead_bytes();
}

bool PartitionReader::waits() const {
  MutexLock lock(mutex_);
  return waits_ && stored_.empty();
}

bool PartitionReader::stop_waiting() { return std::exchange(waits_, false) && !closed_; }

void PartitionReader::skip(const IndexEntry& entry) {
  MutexLock lock(mutex_);
  skipped_.elements += entry.elements;
  skipped_.hash = entry.hash;
}

void PartitionReader::deliver(std::vector<Stored> blocks) {
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return;  // The blocks go outside of the lock.
    for (Stored& block : blocks) {
      stored_bytes_ += block.block->capacity();
      stored_.push_back(std::move(block));
    }
    wake = stop_waiting();
  }
  if (wake && options_.wake) options_.wake();
}

void PartitionReader::end(uint64_t elements) {
  bool wake = false;
  {
    MutexLock lock(mutex_);
    end_ = elements;
    wake = stop_waiting();
  }
  if (wake && options_.wake) options_.wake();
}

void PartitionReader::fail(Status status) {
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
    wake = stop_waiting();
  }
  if (wake && options_.wake) options_.wake();
}

Result<std::optional<PartitionReader::Taken>> PartitionReader::take() {
  while (ready_.empty()) {
    Stored stored;
    bool request = false;
    bool at_end = false;
    {
      MutexLock lock(mutex_);
      if (!stored_.empty()) {
        stored = stored_.pop_front();
        stored_bytes_ -= stored.block->capacity();
        request = !end_ && stored_bytes_ <= pool_->read_ahead_bytes() / 2;
      } else if (!status_.ok()) {
        return status_;
      } else {
        at_end = end_.has_value();
        waits_ = request = !at_end && !closed_;
      }
    }
    if (request) elevator_->request(shared_from_this());
    if (at_end) RETURN_IF_ERROR(check_end());
    if (!stored.block) return std::optional<Taken>();
    if (Status status = decode(stored); !status.ok()) return give_up(std::move(status));
  }
  return std::optional(ready_.pop_front());
}

Status PartitionReader::give_up(Status status) {
  Fifo<Stored> dropped;
  ready_.clear();
  MutexLock lock(mutex_);
  dropped.swap(stored_);
  stored_bytes_ = 0;
  if (status_.ok()) status_ = std::move(status);
  return status_;
}

Status PartitionReader::check_end() {
  begin();
  uint64_t elements = 0;
  for (const Channel& channel : channels_) elements += channel.elements;
  uint64_t expected = 0;
  {
    MutexLock lock(mutex_);
    expected = *end_;
  }
  if (elements != expected) {
    return give_up(elevator_->damaged(
        0, fmt::format("it has {} elements and should have {}", elements, expected)));
  }
  if (options_.next_element <= elements) return Status();
  return give_up(
      elevator_->damaged(0, fmt::format("the consumer has {} elements of it, and it has {}",
                                        options_.next_element, elements)));
}

void PartitionReader::begin() {
  if (std::exchange(began_, true)) return;
  MutexLock lock(mutex_);
  channels_[0] = skipped_;
}

Status PartitionReader::decode(const Stored& stored) {
  begin();
  const std::string_view bytes(stored.block->data(), stored.size);
  const Result<BlockHeader> header = decode_block_header(bytes);
  if (!header.ok()) return elevator_->damaged(stored.offset, header.status().message());
  Result<Buffer> buffer =
      decode_stored_block(*header, bytes, stored.block, stored.subpartition, *pool_);
  if (!buffer.ok()) return elevator_->damaged(stored.offset, buffer.status().message());
  if (header->subpartition != kAllSubpartitions)
    return add(*header, header->subpartition - options_.subpartition, std::move(buffer).value());
  for (uint32_t channel = 0; channel < options_.count; ++channel)
    RETURN_IF_ERROR(add(*header, channel, *buffer));
  return Status();
}

Status PartitionReader::add(const BlockHeader& header, uint32_t channel, Buffer buffer) {
  Channel& at = channels_[channel];
  if (header.subpartition == kAllSubpartitions && !elevator_->written_to_all()) {
    if (!buffer.event || buffer.elements_started != 1)
      return elevator_->damaged(0, "what is for all is no event");
    // Each consumer has its own numbers there.
    const std::string_view bytes = buffer.bytes();
    at.hash = rolling_hash(at.hash, ElementKind{static_cast<uint8_t>(bytes[0])}, kNoTimestamp,
                           bytes.substr(1));
    buffer.first_element = at.elements++;
    buffer.hash = static_cast<uint32_t>(at.hash);
  } else {
    if (header.first_element != at.elements)
      return elevator_->damaged(0, fmt::format("element {} is missing", at.elements));
    at.elements += buffer.elements_started;
    at.hash = header.hash;
  }
  push(channel, std::move(buffer));
  return Status();
}

void PartitionReader::push(uint32_t channel, Buffer buffer) {
  const uint64_t next = options_.next_element;
  const uint64_t end = buffer.first_element + buffer.elements_started;
  if (next != 0 && !delivered_) {
    if (end <= next) return;
    if (buffer.has_start_of(next)) cut_before(next, options_.fixed_record_size, &buffer);
    delivered_ = true;
  }
  ready_.push_back({options_.subpartition + channel, std::move(buffer)});
}

}  // namespace freshet
