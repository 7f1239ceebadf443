#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "shuffle/channel_reader.h"
#include "shuffle/partition_queues.h"

namespace freshet {

/// Counts what it is told, and takes everything when asked to.
class CountingReader final : public ChannelReader {
 public:
  explicit CountingReader(uint32_t subpartition) {
    attachment_.subpartition = subpartition;
    attachment_.consumer = AttemptId{{}, SubtaskId{VertexId{1}, subpartition}, 0};
    attachment_.producers = {{{0, 1}, 0}};
  }
  const Attachment& attachment() const override { return attachment_; }
  void on_ready(const ReaderCall& call) override {
    ++told;
    partition_ = call.partition->shared_from_this();
    channel_ = call.channel;
  }
  void on_ended(ProducerSpan) override {}
  void on_lost(ProducerSpan, const Status&) override {}

  /// All that waits; nothing before it was told of something.
  std::vector<Buffer> take() {
    std::vector<Buffer> buffers;
    if (!partition_) return buffers;
    EXPECT_FALSE(partition_->take(channel_, this, UINT64_MAX, UINT64_MAX, &buffers).more);
    return buffers;
  }
  size_t take_all() { return take().size(); }

  uint64_t told = 0;

 private:
  Attachment attachment_;
  std::shared_ptr<PartitionQueues> partition_;
  QueuedChannel* channel_ = nullptr;
};

}  // namespace freshet
