#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "shuffle/buffer.h"
#include "shuffle/producer_set.h"

namespace freshet {

class PartitionQueues;
struct ReaderCall;

/// Producers [begin, end) of one attempt, as a gate names them.
struct AttachedProducers {
  ProducerSpan span;
  AttemptNumber attempt = 0;
  bool operator==(const AttachedProducers&) const = default;
};

/// Next element of a channel that exists at the consumer already.
struct AttachedPosition {
  uint32_t producer = 0;
  uint64_t next_element = 0;
  uint64_t hash = 0;  // Rolling over the elements before it; 0: not known.
  bool operator==(const AttachedPosition&) const = default;
};

/// What a consumer asks of the partitions of one TaskManager.
struct Attachment {
  JobId job;
  DatasetId dataset;
  uint32_t subpartition = 0;        // The first of the range; channels of one are served.
  uint32_t subpartition_count = 1;  // More are refused.
  AttemptId consumer;
  // Per channel, to begin with; nothing larger is ever charged. 0: not counted in this process, and
  // elsewhere all credit floats.
  uint32_t credit_bytes = 0;
  // What is asked for is complete and kept: what is not there is lost, and is not waited for.
  bool stored = false;
  std::vector<AttachedProducers> producers;  // Rising, disjoint.
  std::vector<AttachedPosition> positions;   // Rising; all other channels start with element 0.

  /// Null when the producer is not asked for.
  const AttachedProducers* find(uint32_t producer) const;
  uint64_t next_element(uint32_t producer) const { return position(producer).next_element; }
  AttachedPosition position(uint32_t producer) const;
  /// All of these are asked for.
  bool covers(ProducerSpan span) const;
};

/// Of one producer.
struct ProducerBuffer {
  uint32_t producer = 0;
  Buffer buffer;
};

/// Takes the buffers of one subpartition from the partitions of a dataset that are in this process:
/// a gate here, or a connection to one elsewhere. Told what is there; takes it when it can.
///
/// Thread-safe; functions are called without a lock held. May be told things after it was detached.
class ChannelReader {
 public:
  virtual ~ChannelReader() = default;

  virtual const Attachment& attachment() const = 0;

  /// What it takes is charged to its credit. False: it is in this process, and takes everything.
  virtual bool is_charged() const { return attachment().credit_bytes != 0; }

  /// on_ready() comes soon.
  virtual void prefetch() const {}

  /// The channel went from nothing to something.
  virtual void on_ready(const ReaderCall& call) = 0;

  /// Readers of one hub are told at once of all that became ready at once, by the first of them;
  /// null: each for itself.
  virtual const void* hub() const { return nullptr; }
  virtual void on_all_ready(std::span<const ReaderCall> /*calls*/) {}

  /// It takes as much as there is: what is at hand need not wait in a channel. on_at_hand() then
  /// brings all buffers of `producers` (rising), each producer's in order, and they have ended.
  virtual bool takes_at_hand() const { return false; }
  virtual void on_at_hand(std::vector<ProducerBuffer> /*buffers*/,
                          std::span<const ProducerSpan> /*producers*/) {}

  /// All data of these producers for this reader was taken, and they have ended.
  virtual void on_ended(ProducerSpan producers) = 0;
  /// The same of many, rising.
  virtual void on_all_ended(std::span<const ProducerSpan> producers) {
    for (const ProducerSpan& span : producers) on_ended(span);
  }

  /// The channel is disconnected before its end.
  virtual void on_lost(ProducerSpan producers, const Status& cause) = 0;
};

}  // namespace freshet
