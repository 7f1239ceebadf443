#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "network/transport.h"
#include "runtime/base/ids.h"
#include "runtime/base/record_layout.h"
#include "runtime/base/status.h"
#include "shuffle/element.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// Part of a gate's producers became disconnected. Says nothing about whose fault it is.
struct ChannelLoss {
  DatasetId dataset;
  uint32_t producer_begin = 0;
  uint32_t producer_end = 0;
  TaskManagerId task_manager;
  Status cause;
};

/// The consuming end of one input edge of one subtask. Keeps its producers as ranges and attaches
/// once per TaskManager. The loss of a producer fails nothing: it is reported, the others go on,
/// and its channels wait for reattach().
///
/// Functions belong to the task's thread, except where said. It never waits.
class InputGate {
 public:
  struct ProducerLocation {
    TaskManagerId task_manager;
    Address address;
    std::optional<Address> unix_address = {};  // On the same host: used when it can be reached.
  };
  struct ProducerRange {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t location = 0;      // Index in locations.
    AttemptNumber attempt = 0;  // Frames of an older attempt are dropped.
  };
  struct Options {
    JobId job;
    DatasetId dataset;
    AttemptId consumer;
    uint32_t subpartition = 0;  // Which of each producer's subpartitions it reads.
    std::vector<ProducerLocation> locations;
    std::vector<ProducerRange> producers;
    uint32_t fixed_record_size = 0;
    bool hash = false;
    std::vector<ChannelPosition> start;  // Rising; all other channels start with element 0.
    // It reads blocking partitions: what comes was checked when it was read, and need not have a
    // hash.
    bool blocking = false;
    // Its producers have ended, and what they made is kept: what is not there is lost (kNotFound).
    bool stored = false;
    // On any thread: something can be taken, or the gate ended or failed.
    std::function<void()> wake;
    // On any thread. Like `wake` it may still be running when release() returns.
    std::function<void(const ChannelLoss&)> on_loss;
  };

  /// Where producers [begin, end) are from now on.
  struct Move {
    uint32_t begin = 0;
    uint32_t end = 0;
    AttemptNumber attempt = 0;
    ProducerLocation location;
  };

  virtual ~InputGate() = default;

  /// Goes on with these producers there, behind the last element that was taken of each. What is
  /// here of them is dropped, frames of the former ones are too. kInvalidArgument for producers
  /// that the gate does not have.
  virtual Status reattach(const Move& move) = 0;

  /// A producer from which a complete element can be taken now, in fair turns; the same answer
  /// until something is taken.
  virtual std::optional<uint32_t> next_ready() = 0;

  /// All producers from which a complete element can be taken now, in turn order. For a replaying
  /// or random choice.
  virtual void ready(std::vector<uint32_t>* producers) = 0;

  /// The next element of one producer. Nullopt when none is complete. Views in it are valid until
  /// the next call of this function, or until the gate was asked what is ready, and nothing is.
  virtual std::optional<Element> take_from(uint32_t producer) = 0;

  /// When whole records of one producer come next and lie in one buffer: those, for as long as no
  /// other function is called; then end_run() takes as many as the run gave. Nullopt: take_from()
  /// knows. At most `records_max`, and none once `*stop`.
  virtual std::optional<RecordRun> begin_run(uint32_t producer, uint32_t records_max,
                                             const bool* stop) = 0;
  virtual void end_run(uint32_t producer, const RecordRun& run) = 0;

  /// Gives back what it is done with, for which producers may wait. To be called before the task
  /// gives up its thread; the views of the last element end.
  virtual void end_step() = 0;

  /// True when every producer's data has ended and was taken. Ends come as ranges and are not given
  /// out as elements.
  virtual bool ended() const = 0;

  /// Positions of all channels that exist or did not begin with element 0, by producer: elements
  /// taken.
  virtual std::vector<ChannelPosition> positions() const = 0;

  /// Bytes with the headers of records.
  virtual uint64_t records_read() const = 0;
  virtual uint64_t bytes_read() const = 0;

  /// What came for the task so far, in this process or from others, events too.
  struct Received {
    uint64_t local_buffers = 0;
    uint64_t local_bytes = 0;
    uint64_t remote_buffers = 0;
    uint64_t remote_bytes = 0;
  };
  virtual Received received() const { return {}; }

  /// What waits for the task now. Buffers of this process wait at their producer until the task
  /// takes all that it finds there.
  struct Load {
    uint64_t buffers = 0;
    double pool_usage = 0;       // The part of its receive blocks that holds something.
    double floating_usage = 0;   // The part of the floating ones that is lent to a channel.
    uint64_t bytes = 0;          // Of the payloads of `buffers`.
    double exclusive_usage = 0;  // What holds something beyond what is lent, of those not floating.
  };
  /// On any thread.
  virtual Load load() const { return {}; }

  /// Detaches everywhere and returns all buffers. Before destruction; once; any thread while no
  /// other function runs.
  virtual void release() = 0;
};

}  // namespace freshet
