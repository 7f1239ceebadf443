#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shuffle/pipelined_gate.h"

namespace freshet {

inline constexpr uint32_t kCredit = 2 * kSmallBlockBytes;
inline constexpr uint32_t kFloating = kMediumBlockBytes;

/// A gate with one remote source of producers 0 to 4, fed with frames by hand.
class GateInboxFixture : public ::testing::Test {
 protected:
  GateInboxFixture() {
    source_->task_manager = TaskManagerId{9};
    source_->attachment.credit_bytes = kCredit;
    source_->attachment.subpartition = 5;
    source_->attachment.producers = {{{0, 4}, 2}};
    inbox_ = std::make_shared<GateInbox>(
        GateInbox::Options{DatasetId{1}, pool_, kFloating, [this] { ++woken_; },
                           [this](const ChannelLoss& loss) { losses_.push_back(loss); }});
    inbox_->add(source_);
    GateReader::Options options;
    options.fixed_record_size = 8;
    options.hash = true;
    options.producers_end = 4;
    options.producer_count = 4;
    options.inbox = inbox_;
    options.local_reader = [this](const GateInbox::Source&) { return local_reader_.get(); };
    options.return_credit = [this](const std::vector<CreditReturn>& credits) {
      for (const CreditReturn& credit : credits) returned_ += credit.bytes;
    };
    options.refuse = [this](const GateInbox::Source& source, const Status& cause) {
      refused_.emplace_back(&source, cause);
    };
    reader_ = std::make_unique<GateReader>(std::move(options));
  }

  ~GateInboxFixture() override {
    inbox_->close();
    reader_->drop_all();
    reserve_.give_back();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  /// A frame with `count` records of 8 bytes from number `first` on, as a producer makes it.
  FrameHeader frame(uint32_t producer, uint64_t first, uint32_t count, std::string* payload) {
    FrameHeader header;
    header.producer = producer;
    header.producer_attempt = 2;
    header.first_element = first;
    header.elements_started = count;
    header.block_class = 1;
    uint64_t hash = 0;
    payload->clear();
    for (uint64_t i = 0; i < first + count; ++i) {
      const std::string record(reinterpret_cast<const char*>(&i), 8);
      hash = rolling_hash(hash, ElementKind::kRecord, INT64_MIN, record);
      if (i >= first) *payload += record;
    }
    header.hash = static_cast<uint32_t>(hash);
    header.payload_bytes = static_cast<uint32_t>(payload->size());
    return header;
  }

  Status give(const FrameHeader& header, const std::string& payload) {
    return give(*source_, header, payload);
  }

  Status give(const GateInbox::Source& source, const FrameHeader& header,
              const std::string& payload) {
    GateInbox::FrameOutcome outcome;
    const Status status = inbox_->on_frame(source, header, payload, &outcome, nullptr, &reserve_);
    reserve_.give_back();
    if (outcome.wake) inbox_->wake();
    returned_at_once_ = outcome.returned_bytes;
    return status;
  }

  Status give(uint32_t producer, uint64_t first, uint32_t count) {
    std::string payload;
    const FrameHeader header = frame(producer, first, count, &payload);
    return give(header, payload);
  }

  /// As frame(), but its hash says that something else was sent.
  FrameHeader wrong_frame(uint32_t producer, uint32_t count, std::string* payload) {
    FrameHeader header = frame(producer, 0, count, payload);
    ++header.hash;
    return header;
  }

  /// From now on producer `producer` comes from the source that is returned, in its attempt 3.
  std::shared_ptr<GateInbox::Source> reattach(uint32_t producer, bool local) {
    auto next = std::make_shared<GateInbox::Source>(*source_);
    next->local = local;
    next->attachment.producers = {{{producer, producer + 1}, 3}};
    inbox_->add(next);
    reader_->move_to(next);
    return next;
  }

  /// What producer `producer` gets when it says that `bytes` wait.
  uint32_t ask(uint32_t producer, uint32_t bytes) {
    uint32_t granted = 0;
    EXPECT_TRUE(inbox_->on_backlog(*source_, producer, bytes, &granted).ok());
    return granted;
  }

  size_t take_all() {
    size_t count = 0;
    while (const auto producer = reader_->next_ready()) {
      if (reader_->take_from(*producer)) ++count;
    }
    return count;
  }

  using Lost = std::vector<std::pair<uint32_t, StatusCode>>;
  using Refused = std::vector<std::pair<const GateInbox::Source*, Status>>;

  Lost lost() const {
    Lost lost;
    for (const ChannelLoss& loss : losses_) {
      for (uint32_t p = loss.producer_begin; p < loss.producer_end; ++p)
        lost.emplace_back(p, loss.cause.code());
    }
    return lost;
  }

  std::shared_ptr<GateInbox::Source> source_ = std::make_shared<GateInbox::Source>();
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(4 * kLargeBlockBytes);
  BlockReserve reserve_{pool_, nullptr};
  int woken_ = 0;
  uint64_t returned_ = 0;
  uint32_t returned_at_once_ = 0;
  std::vector<ChannelLoss> losses_;
  Refused refused_;
  std::shared_ptr<GateInbox> inbox_;
  std::shared_ptr<ChannelReader> local_reader_;
  std::unique_ptr<GateReader> reader_;
};

}  // namespace freshet
