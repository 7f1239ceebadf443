#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/encoding.h"
#include "runtime/base/ids.h"
#include "runtime/base/record_output.h"
#include "runtime/base/status.h"
#include "shuffle/element.h"

namespace freshet {

/// How far one channel got: every element since the start of the job has a number.
struct ChannelPosition {
  uint32_t peer = 0;      // Subpartition at the producer, producer at the consumer.
  uint64_t elements = 0;  // Number of the next element.
  uint64_t hash =
      0;  // Rolling over elements [0, elements): see rolling_hash(). 0 when hashing is off.
  bool operator==(const ChannelPosition&) const = default;
};

/// The position of `peer` in rising positions; element 0 when it is not there.
ChannelPosition position_of(const std::vector<ChannelPosition>& positions, uint32_t peer);

/// `positions` (rising), and those of `start` (rising) whose peer is not among them; rising.
std::vector<ChannelPosition> with_start(const std::vector<ChannelPosition>& positions,
                                        const std::vector<ChannelPosition>& start);

/// The rolling hash of a channel after one more element.
uint64_t rolling_hash(uint64_t running, ElementKind kind, EpochMillis timestamp,
                      std::string_view payload);

/// Nobody wants what is written: the task was cancelled, or its output failed. Leaves an element in
/// the middle that may emit without end.
class WriteAbandoned final : public std::exception {
 public:
  const char* what() const noexcept override { return "the task's output is not wanted any more"; }
};

/// The producing end of one output edge of one subtask: a channel per consumer, which exists from
/// its first element on and outlives its consumer's attempts and connections. A channel whose
/// consumer went away holds up nobody: what is written is given away, and retained as far as it
/// may be, until a consumer attaches that says what it wants next.
///
/// Writing functions belong to the task's thread and never wait for consumers: when the pool is
/// empty, blocks come from the heap and count as overdraft; above a bound what is written goes to a
/// file, and so does all that comes behind it, until pay_back() has brought it back. Buffers are
/// handed over when enough of them are full or available() became false, at end_step(), flush() and
/// before events; handed over they are immutable.
class ResultPartition : public RecordOutput {
 public:
  struct Options {
    JobId job;
    DatasetId dataset;
    uint32_t producer = 0;  // Subtask.
    AttemptNumber attempt = 0;
    uint32_t subpartitions = 1;      // Consumers.
    uint32_t fixed_record_size = 0;  // Bytes of every record, or 0: a varint length precedes each.
    bool hash = false;               // Rolling hash per channel.
    std::function<void()> wake;      // Called on any thread when available() may have become true.
    std::vector<ChannelPosition> start;      // Rising; all other channels start with element 0.
    std::function<uint64_t()> log_position;  // Gate of what is written now; empty: 0.
    // Of buffers that were given away and are kept for a consumer that attaches again: the last
    // ones, on the heap, beside the pool. 0: none.
    uint64_t retained_bytes_max = 0;
    // Consumers read it when it is complete, any number of times: it goes to a file.
    bool blocking = false;
  };

  explicit ResultPartition(uint32_t subpartitions) : RecordOutput(subpartitions) {}

  /// True when the task may take another element: buffers are left, no overdraft is owed and
  /// nothing is spilled. Before a task waits with something spilled it asks pay_back(), too.
  virtual bool available() const = 0;

  /// True while something that was written is in a file.
  virtual bool spilled() const = 0;

  /// What an unavailable partition can do itself to become available: brings back a bounded part of
  /// what is spilled, as far as there is memory, and hands over what is open and too large. True:
  /// there is memory for more, so call it again. False while something is spilled: `wake` will be
  /// called.
  virtual bool pay_back() = 0;

  /// How long writing functions have waited for the disk in all, while too much was not spilled
  /// yet: the time of the task that is not its own.
  virtual Duration waited() const { return {}; }

  /// Not ok when something could not be spilled or brought back. Then all that is written is
  /// dropped, and the data has no end.
  virtual const Status& status() const = 0;

  /// From now on writing functions set `*full` when they leave it unavailable, and end_record()
  /// throws WriteAbandoned once `*cancelled` (may be null) or when status() is not ok. Both outlive
  /// the partition.
  virtual void watch(bool* full, const std::atomic<bool>* cancelled) = 0;

  /// From now on what is written to channel 0 goes to all consumers, encoded once and in shared
  /// buffers; no other channel is written. Before the first record.
  virtual void write_to_all() = 0;

  /// An event to all consumers, behind what was written before. Not for kEndOfData.
  virtual void broadcast_event(ElementKind kind, std::string_view payload) = 0;

  /// Hands over what is full. To be called before the task gives up its thread: small buffers wait
  /// for others of the same step, because handing over many costs little more than one.
  virtual void end_step() = 0;

  /// Hands over what was written since the last flush. Visits only channels with memory; those in
  /// which nothing was written since give it back, unless it waits to be taken.
  virtual void flush() = 0;
  /// The same but for channels of which something was handed over in this step: what is left of
  /// those is as new as the step, and may wait for the next time.
  virtual void flush_older() = 0;
  /// False when flush() has nothing to do.
  virtual bool wants_flush() const = 0;

  /// flush(), then the end of data for every consumer, travelling as a range; behind what is
  /// spilled.
  virtual void end_of_data() = 0;

  /// After end_of_data(): consumers can have all of it, whatever becomes of the task. Until then
  /// the task stays, and is told by `wake`.
  virtual bool handed_over() { return !spilled(); }

  /// Once handed_over() is true: of all that consumers get, if they read it when it is complete.
  /// Equal for two partitions when each consumer gets the same elements in the same order, however
  /// long writing took, and however much memory there was.
  virtual std::optional<uint64_t> stored_hash() const { return std::nullopt; }

  /// Positions of all channels that exist or did not begin with element 0, by subpartition.
  virtual std::vector<ChannelPosition> positions() const = 0;

  /// To all consumers, in buffers that are closed; bytes with the headers of records.
  virtual uint64_t records_written() const = 0;
  virtual uint64_t bytes_written() const = 0;
  /// Handed over to consumers, not to a file.
  virtual uint64_t buffers_written() const { return 0; }

  /// On any thread: of what it may hold of the pool the part that it holds; with overdraft above 1.
  virtual double pool_usage() const { return 0; }
  /// On any thread: handed over and not taken by consumers.
  virtual uint64_t buffers_waiting() const { return 0; }
  virtual uint64_t bytes_waiting() const { return 0; }

  /// Drops what was not taken and detaches all consumers. Before destruction; once; any thread
  /// while no other function runs.
  virtual void release() = 0;
};

}  // namespace freshet
