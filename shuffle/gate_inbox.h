#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "network/frame.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/buffer.h"
#include "shuffle/data_messages.h"
#include "shuffle/input_gate.h"
#include "shuffle/partition_queues.h"
#include "shuffle/producer_set.h"

namespace freshet {

/// Where everything for one gate arrives, from connections and partitions of this process, until
/// the gate's task takes it. Checks what comes from the network: numbers, attempts, sizes, credit.
///
/// Thread-safe, one lock, under which nothing is called. Wakes the task once per change from
/// nothing to something.
class GateInbox {
 public:
  /// One TaskManager's part of the producers.
  struct Source {
    TaskManagerId task_manager;
    Attachment attachment;
  };
  struct Options {
    DatasetId dataset;
    std::vector<Source> sources;
    std::shared_ptr<SegmentPool> pool;
    std::function<void()> wake;
    std::function<void(const ChannelLoss&)> on_loss;
  };
  struct Arrived {
    uint32_t producer = 0;
    Buffer buffer;
  };
  struct Arrivals {
    std::vector<Arrived> buffers;
    std::vector<std::shared_ptr<PartitionQueues>>
        ready;                        // Partitions of this process that have something.
    std::vector<ProducerSpan> ended;  // Everything of these was taken, or is in `buffers`.
    Status failure;
  };

  explicit GateInbox(Options options) : options_(std::move(options)) {}

  const std::vector<Source>& sources() const { return options_.sources; }

  // From a connection. An error is the peer's breach of the protocol and must close the connection.

  /// A data or event frame. Sets `returned_bytes` to credit that is free at once.
  Status on_frame(size_t source, const FrameHeader& header, std::string_view payload,
                  uint32_t* returned_bytes);
  Status on_ended(size_t source, const std::vector<ProducerSpan>& spans);

  // From a connection or a partition here.

  /// All channels of the source within `producers` that did not end are disconnected.
  void on_lost(size_t source, ProducerSpan producers, const Status& cause);
  void on_source_lost(size_t source, const Status& cause);
  void on_ready(const std::shared_ptr<PartitionQueues>& partition);
  void on_local_ended(uint32_t producer);

  // From the task.

  bool has_arrivals() const { return pending_.load(std::memory_order_acquire); }
  Arrivals take();

  /// Everything of this local producer was taken.
  void note_ended(uint32_t producer);

  /// Makes room that the peer will be told of.
  void add_credit(const std::vector<CreditReturn>& credits);

  /// Drops what is here and all that comes.
  void close();

 private:
  struct Channel {
    uint64_t next_element = 0;
    uint64_t credit_bytes = 0;
  };

  static Status check_shape(const FrameHeader& header, std::string_view payload);
  Status admit(size_t source, const FrameHeader& header, uint32_t* returned_bytes, bool* accepted)
      REQUIRES(mutex_);
  Buffer copy(const FrameHeader& header, std::string_view payload) const;
  /// Under the lock: true when the task must be woken after it.
  bool note_arrival() REQUIRES(mutex_);
  void wake_if(bool needed) const;

  const Options options_;
  mutable Mutex mutex_;
  std::unordered_map<uint32_t, Channel> channels_
      GUARDED_BY(mutex_);  // Remote ones that exist, by producer; never iterated.
  Arrivals arrivals_ GUARDED_BY(mutex_);
  ProducerSet ended_ GUARDED_BY(mutex_);
  ProducerSet lost_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> pending_{false};
};

}  // namespace freshet
