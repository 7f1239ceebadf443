#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/base/random.h"
#include "runtime/base/secret_handshake.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/memory_shares.h"
#include "shuffle/peer_connection.h"
#include "shuffle/pipelined_gate.h"
#include "shuffle/pipelined_partition.h"
#include "shuffle/serving_connection.h"
#include "shuffle/shuffle_environment.h"
#include "shuffle/stored_files.h"

namespace freshet {

/// Connections that did not say who they are yet; above it the oldest are closed.
inline constexpr size_t kDataStrangersMax = 256;

/// The connections of an environment. Kept by them too: they may close after the environment went.
///
/// Thread-safe, one lock, under which nothing is called but the source of chance.
class DataConnections : public std::enable_shared_from_this<DataConnections> {
 public:
  DataConnections(const ShuffleEnvironment::Options& options, Transport& transport,
                  std::shared_ptr<SegmentPool> pool, std::shared_ptr<DatasetIndex> index)
      : options_(options),
        transport_(transport),
        pool_(std::move(pool)),
        index_(std::move(index)),
        random_(options.random ? options.random : make_system_random()) {}

  void accept(std::shared_ptr<Connection> connection);

  /// Attaches a gate's source over the connection to its TaskManager, which is made if there is
  /// none.
  Result<PipelinedGate::Remote> attach(const InputGate::ProducerLocation& location,
                                       const std::shared_ptr<GateInbox>& inbox,
                                       const std::shared_ptr<const GateInbox::Source>& source);
  void shut_down();

  /// Sends whose bytes the transport may still hold.
  int64_t unconfirmed_sends() const { return unconfirmed_sends_->load(); }
  size_t peer_count() const;

 private:
  std::shared_ptr<PeerConnection> peer_for(const InputGate::ProducerLocation& location);
  std::shared_ptr<SecretHandshake> handshake(HandshakeSide side) REQUIRES(mutex_);
  void await_hello(const std::shared_ptr<ServingConnection>& serving) REQUIRES(mutex_);
  /// Whom to close for `serving`, unless it has said who it is; may be null.
  std::shared_ptr<ServingConnection> make_room_for(
      const std::shared_ptr<ServingConnection>& serving) REQUIRES(mutex_);
  void forget(TaskManagerId task_manager, const PeerConnection* peer);
  void forget(uint64_t serving);

  const ShuffleEnvironment::Options options_;
  Transport& transport_;  // Not used after shut_down().
  const std::shared_ptr<SegmentPool> pool_;
  const std::shared_ptr<DatasetIndex> index_;
  const std::shared_ptr<std::atomic<int64_t>> unconfirmed_sends_ =
      std::make_shared<std::atomic<int64_t>>(0);
  const std::shared_ptr<std::atomic<bool>> fallback_logged_ =
      std::make_shared<std::atomic<bool>>(false);

  mutable Mutex mutex_;
  const std::shared_ptr<Random> random_ GUARDED_BY(mutex_);
  std::map<TaskManagerId, std::shared_ptr<PeerConnection>> peers_ GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<ServingConnection>> serving_ GUARDED_BY(mutex_);
  uint64_t next_serving_ GUARDED_BY(mutex_) = 0;
  // The last that came. Every stranger is among them.
  std::deque<std::weak_ptr<ServingConnection>> newest_ GUARDED_BY(mutex_);
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

class PipelinedEnvironment final : public ShuffleEnvironment {
 public:
  PipelinedEnvironment(const Options& options, Transport& transport);
  ~PipelinedEnvironment() override;

  Status open_store();
  Status listen(Transport& transport);

  Address data_address() const override { return listener_ ? listener_->address() : options_.bind; }
  std::optional<Address> unix_data_address() const override {
    return unix_listener_ ? std::optional(unix_listener_->address()) : std::nullopt;
  }
  Result<std::shared_ptr<ResultPartition>> create_partition(
      const ResultPartition::Options& options) override;
  Result<std::shared_ptr<InputGate>> create_gate(const InputGate::Options& options) override;
  void release_stored(const StoredPartition::Name& name) override {
    if (stored_) stored_->release(name);
  }
  void release_stored_of(const JobId& job) override {
    if (stored_) stored_->release_job(job);
  }
  BufferNeed need_of(const ResultPartition::Options& options) const override;
  BufferNeed need_of(const InputGate::Options& options) const override;
  Result<std::unique_ptr<Reservation>> reserve(const JobId& job, const BufferNeed& need) override;
  uint64_t free_bytes() const override { return pool_->free_bytes(); }
  uint64_t total_bytes() const override { return pool_->total_bytes(); }
  uint64_t wanted_bytes() const override { return shares_->wanted_bytes(); }
  void shut_down() override;

 private:
  Result<std::unique_ptr<Listener>> listen_on(const Address& address, Transport& transport);
  Result<ReceiveMemory> reserve_receive(const InputGate::Options& options);
  uint64_t remote_producers(const InputGate::Options& options) const;

  const Options options_;
  const std::shared_ptr<SegmentPool> pool_;
  const std::shared_ptr<MemoryShares> shares_;
  const std::shared_ptr<DatasetIndex> index_;
  const std::shared_ptr<DataConnections> connections_;
  const std::shared_ptr<TempDirectories> spill_;  // Null: nothing is spilled.
  std::shared_ptr<StoredFiles> stored_;           // Null: there can be none.
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> unix_listener_;
  const std::shared_ptr<std::atomic<uint64_t>> gates_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace freshet
