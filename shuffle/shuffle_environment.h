#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/transport.h"
#include "runtime/base/executor.h"
#include "runtime/base/ids.h"
#include "runtime/base/random.h"
#include "shuffle/block_codec.h"
#include "shuffle/input_gate.h"
#include "shuffle/memory_shares.h"
#include "shuffle/result_partition.h"
#include "shuffle/spill_place.h"
#include "shuffle/stored_partition.h"
#include "shuffle/wide_limits.h"

namespace freshet {

/// All that a TaskManager has of the data plane: its segment pool, the partitions of its tasks, the
/// gates of its tasks, and one connection per peer that carries the channels between them.
/// Thread-safe.
class ShuffleEnvironment {
 public:
  struct Options {
    TaskManagerId task_manager;
    Address bind;  // Data port; 0: any.
    // A Unix socket beside it, for TaskManagers of the same host. Without it when it cannot be had.
    std::optional<Address> unix_bind;
    uint64_t pool_bytes = 64u << 20;
    uint64_t gate_budget_bytes = 4u << 20;
    // What a partition may hold in memory beyond its budget. Above it, what is written goes to a
    // file.
    uint64_t overdraft_bytes_max = 1u << 20;
    // Where that is. The directory belongs to this environment alone and is emptied first. Nullopt:
    // nothing is spilled, and overdraft has no bound.
    std::optional<SpillPlace> spill;
    // Where blocking partitions are; likewise. Nullopt: there can be none.
    std::optional<SpillPlace> store;
    BlockCodec store_codec = BlockCodec::kLz4;
    uint64_t store_read_bytes = 32u << 20;   // Memory for what is read of them, beside the pool.
    uint64_t store_write_bytes = 16u << 20;  // At most, of the pool, for each that is written.
    WideLimits wide;
    Duration connect_timeout = 5s;
    Duration hello_timeout = 10s;  // From accepting a connection to its valid hello.
    std::string secret;            // That all peers must know; empty: none.
    // For challenges; of this environment alone. Null: the operating system's.
    std::shared_ptr<Random> random;
    Executor* timers = nullptr;  // Used until shut_down(). Null: nothing is timed.
    Faults* faults = nullptr;    // Of connections; those of files are in their places.
  };

  /// Listens at once.
  static Result<std::unique_ptr<ShuffleEnvironment>> create(const Options&, Transport&);

  /// CHECKs that every partition and gate was released and every segment is free.
  virtual ~ShuffleEnvironment() = default;

  virtual Address data_address() const = 0;
  /// Nullopt when it listens on no Unix socket.
  virtual std::optional<Address> unix_data_address() const = 0;

  /// The producing end of one subtask's one output edge. Too little memory: kResourceExhausted, or
  /// kInvalidArgument when it is too little for this job alone, with how much is needed and there
  /// is.
  virtual Result<std::shared_ptr<ResultPartition>> create_partition(
      const ResultPartition::Options&) = 0;

  /// The consuming end; attaches to all its producers, here and elsewhere, once per TaskManager.
  /// Producers may not be there yet.
  virtual Result<std::shared_ptr<InputGate>> create_gate(const InputGate::Options&) = 0;

  /// Removes a blocking partition that is handed over, if it is there; whoever reads it loses it.
  virtual void release_stored(const StoredPartition::Name&) = 0;
  /// The same of all that a job has. No task of it may be left.
  virtual void release_stored_of(const JobId&) = 0;

  /// What the partition or the gate needs of the memory for buffers.
  virtual BufferNeed need_of(const ResultPartition::Options&) const = 0;
  virtual BufferNeed need_of(const InputGate::Options&) const = 0;

  /// Keeps so much for what the job creates next, until the reservation goes, which must be before
  /// the environment; one at a time for each job. So whoever needs several partitions and gates can
  /// have all of them, or hears how much they need together; and all gates have blocks for each of
  /// their channels, or all that have many take them when data flows. Errors as of
  /// create_partition().
  class Reservation {
   public:
    virtual ~Reservation() = default;
  };
  virtual Result<std::unique_ptr<Reservation>> reserve(const JobId&, const BufferNeed&) = 0;

  /// Segments that nobody holds, and all there are.
  virtual uint64_t free_bytes() const = 0;
  virtual uint64_t total_bytes() const = 0;
  /// What all partitions and gates could use at once; may be more than there is.
  virtual uint64_t wanted_bytes() const = 0;

  /// Closes the port and all connections; gates and partitions become disconnected. Before
  /// destruction.
  virtual void shut_down() = 0;
};

}  // namespace freshet
