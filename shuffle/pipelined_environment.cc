#include "shuffle/pipelined_environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr uint64_t kPartitionBytesMin = 4 * kLargeBlockBytes;  // Of the whole pool.
constexpr uint64_t kQueuedBytesMax = 4u << 20;
constexpr uint64_t kBytesPerChannel = 16u << 10;

/// Guaranteed are the first channels of a partition with a small block each, up to a large one.
/// Beyond that it can use as much as keeps all channels busy, and no more: what waits in a queue
/// falls out of the caches and is in the way of whoever comes behind it. Flink's default is the
/// same for few channels: two buffers per channel, and eight.
MemoryClaim partition_claim(uint64_t subpartitions) {
  MemoryClaim claim;
  claim.guaranteed_bytes =
      std::min<uint64_t>((subpartitions + 1) * kSmallBlockBytes, kLargeBlockBytes);
  claim.extra_bytes_max = std::min((2 * subpartitions + 8) * kLargeBlockBytes,
                                   std::max(kQueuedBytesMax, subpartitions * kBytesPerChannel));
  return claim;
}

}  // namespace

void DataConnections::accept(std::shared_ptr<Connection> connection) {
  pass_mark(options_.faults, "data.before_accept");
  std::shared_ptr<ServingConnection> serving;
  std::shared_ptr<ServingConnection> oldest;
  bool refused = false;
  {
    MutexLock lock(mutex_);
    const uint64_t id = next_serving_++;
    serving = std::make_shared<ServingConnection>(
        std::move(connection),
        ServingConnection::Context{index_, handshake(HandshakeSide::kAccepting), unconfirmed_sends_,
                                   [self = weak_from_this(), id] {
                                     if (auto strong = self.lock()) strong->forget(id);
                                   }});
    refused = shut_down_;
    if (!refused) {
      serving_.emplace(id, serving);
      await_hello(serving);
      oldest = make_room_for(serving);
    }
  }
  if (oldest) oldest->close_unless_greeted();
  serving->start();
  if (refused) serving->close();
}

std::shared_ptr<SecretHandshake> DataConnections::handshake(HandshakeSide side) {
  return std::make_shared<SecretHandshake>(
      SecretHandshake::Options{side, options_.secret, "this TaskManager", "another TaskManager"},
      *random_);
}

void DataConnections::await_hello(const std::shared_ptr<ServingConnection>& serving) {
  if (options_.timers == nullptr) return;
  options_.timers->schedule(options_.hello_timeout, "data_hello_timeout",
                            [weak = std::weak_ptr(serving)] {
                              if (const auto strong = weak.lock()) strong->close_unless_greeted();
                            });
}

std::shared_ptr<ServingConnection> DataConnections::make_room_for(
    const std::shared_ptr<ServingConnection>& serving) {
  std::shared_ptr<ServingConnection> oldest;
  if (newest_.size() == kDataStrangersMax) {
    oldest = newest_.front().lock();
    newest_.pop_front();
  }
  newest_.push_back(serving);
  return oldest;
}

std::shared_ptr<PeerConnection> DataConnections::peer_for(
    const InputGate::ProducerLocation& location) {
  std::shared_ptr<PeerConnection> peer;
  {
    MutexLock lock(mutex_);
    if (shut_down_) return nullptr;
    std::shared_ptr<PeerConnection>& place = peers_[location.task_manager];
    if (place) return place;
    PeerConnection::Options options;
    options.pool = pool_;
    options.transport = &transport_;
    options.address = location.address;
    options.unix_address = location.unix_address;
    options.fallback_logged = fallback_logged_;
    options.self = options_.task_manager;
    options.peer = location.task_manager;
    options.handshake = handshake(HandshakeSide::kConnecting);
    options.connect_timeout = options_.connect_timeout;
    options.timers = options_.timers;
    options.unconfirmed_sends = unconfirmed_sends_;
    options.on_closed = [self = weak_from_this(),
                         id = location.task_manager](const PeerConnection* closed) {
      if (auto strong = self.lock()) strong->forget(id, closed);
    };
    place = peer = std::make_shared<PeerConnection>(std::move(options));
  }
  peer->connect();
  return peer;
}

Result<PipelinedGate::Remote> DataConnections::attach(
    const InputGate::ProducerLocation& location, const std::shared_ptr<GateInbox>& inbox,
    const std::shared_ptr<const GateInbox::Source>& source) {
  pass_mark(options_.faults, "data.before_attach");
  // One that closes meanwhile forgets itself, and the next is new.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::shared_ptr<PeerConnection> peer = peer_for(location);
    if (!peer) return unavailable("the data plane is shut down");
    Result<uint32_t> id = peer->attach(inbox, source);
    if (id.ok()) return PipelinedGate::Remote{peer, *id};
    if (id.status().code() != StatusCode::kUnavailable) return id.status();
    forget(location.task_manager, peer.get());
  }
  return unavailable(fmt::format("connections to {} close at once", location.address.to_string()));
}

void DataConnections::forget(TaskManagerId task_manager, const PeerConnection* peer) {
  std::shared_ptr<PeerConnection> removed;
  MutexLock lock(mutex_);
  const auto at = peers_.find(task_manager);
  if (at == peers_.end() || at->second.get() != peer) return;
  removed = std::move(at->second);
  peers_.erase(at);
}

void DataConnections::forget(uint64_t serving) {
  std::shared_ptr<ServingConnection> removed;
  MutexLock lock(mutex_);
  const auto at = serving_.find(serving);
  if (at == serving_.end()) return;
  removed = std::move(at->second);
  serving_.erase(at);
}

void DataConnections::shut_down() {
  std::map<TaskManagerId, std::shared_ptr<PeerConnection>> peers;
  std::map<uint64_t, std::shared_ptr<ServingConnection>> serving;
  {
    MutexLock lock(mutex_);
    shut_down_ = true;
    peers = peers_;
    serving = serving_;
  }
  for (const auto& [id, peer] : peers) peer->close();
  for (const auto& [id, connection] : serving) connection->close();
}

size_t DataConnections::peer_count() const {
  MutexLock lock(mutex_);
  return peers_.size();
}

Result<std::unique_ptr<ShuffleEnvironment>> ShuffleEnvironment::create(const Options& options,
                                                                       Transport& transport) {
  if (options.pool_bytes < kPartitionBytesMin) {
    return invalid_argument(fmt::format("a pool of {} bytes for buffers; at least {} are needed",
                                        options.pool_bytes, kPartitionBytesMin));
  }
  if (options.spill) {
    // What a process left that was killed.
    for (const std::string& directory : TempDirectories(*options.spill).all()) {
      RETURN_IF_ERROR(options.spill->files->remove_all(directory).with_context("spill directory"));
    }
  }
  auto environment = std::make_unique<PipelinedEnvironment>(options, transport);
  RETURN_IF_ERROR(environment->open_store());
  if (Status status = environment->listen(transport); !status.ok())
    return status.with_context("data port");
  return std::unique_ptr<ShuffleEnvironment>(std::move(environment));
}

PipelinedEnvironment::PipelinedEnvironment(const Options& options, Transport& transport)
    : options_(options),
      pool_(std::make_shared<SegmentPool>(options.pool_bytes)),
      shares_(std::make_shared<MemoryShares>(pool_->total_bytes(), options.wide)),
      index_(std::make_shared<DatasetIndex>(options.timers, options.wide)),
      connections_(std::make_shared<DataConnections>(options, transport, pool_, index_)),
      spill_(options.spill ? std::make_shared<TempDirectories>(*options.spill) : nullptr) {}

PipelinedEnvironment::~PipelinedEnvironment() {
  shut_down();
  CHECK(shares_->is_empty() && gates_->load() == 0);
  // A transport gives back the bytes of a send that was cut off when it likes.
  if (connections_->unconfirmed_sends() == 0) CHECK(free_bytes() == total_bytes());
}

Status PipelinedEnvironment::open_store() {
  if (!options_.store) return Status();
  ASSIGN_OR_RETURN(
      stored_, StoredFiles::create({pool_, shares_, index_, *options_.store, options_.store_codec,
                                    options_.store_read_bytes, options_.store_write_bytes}));
  return Status();
}

Status PipelinedEnvironment::listen(Transport& transport) {
  ASSIGN_OR_RETURN(listener_, listen_on(options_.bind, transport));
  if (!options_.unix_bind) return Status();
  Result<std::unique_ptr<Listener>> unix_listener = listen_on(*options_.unix_bind, transport);
  if (unix_listener.ok()) {
    unix_listener_ = std::move(unix_listener).value();
  } else {
    LOG_WARN("data_unix_socket_not_open", {{"cause", unix_listener.status()}});
  }
  return Status();
}

Result<std::unique_ptr<Listener>> PipelinedEnvironment::listen_on(const Address& address,
                                                                  Transport& transport) {
  return transport.listen(address, [connections = connections_](auto connection) {
    connections->accept(std::move(connection));
  });
}

void PipelinedEnvironment::shut_down() {
  listener_ = nullptr;
  unix_listener_ = nullptr;
  index_->shut_down();
  connections_->shut_down();
}

Result<std::shared_ptr<ResultPartition>> PipelinedEnvironment::create_partition(
    const ResultPartition::Options& options) {
  if (options.subpartitions == 0) return invalid_argument("a partition without subpartitions");
  if (options.blocking) {
    if (stored_) return stored_->create_partition(options);
    return failed_precondition("a blocking partition where none can be kept");
  }
  const MemoryClaim claim = partition_claim(options.subpartitions);
  RETURN_IF_ERROR(shares_->reserve(options.job, claim));
  const auto give_back = [shares = shares_, job = options.job, claim] {
    shares->give_back(job, claim);
  };
  Result<std::shared_ptr<ResultPartition>> partition = PipelinedPartition::create(
      options, {pool_, index_, claim, shares_, give_back, options_.overdraft_bytes_max,
                spill_ ? std::optional(spill_->next({})) : std::nullopt});
  if (!partition.ok()) give_back();
  return partition;
}

uint64_t PipelinedEnvironment::remote_producers(const InputGate::Options& options) const {
  uint64_t remote = 0;
  for (const InputGate::ProducerRange& range : options.producers) {
    const bool known = range.location < options.locations.size();
    if (known && options.locations[range.location].task_manager != options_.task_manager)
      remote += range.end - range.begin;
  }
  return remote;
}

BufferNeed PipelinedEnvironment::need_of(const ResultPartition::Options& options) const {
  const uint64_t bytes = options.blocking ? StoredFiles::least_bytes()
                                          : partition_claim(options.subpartitions).guaranteed_bytes;
  return {bytes, bytes};
}

BufferNeed PipelinedEnvironment::need_of(const InputGate::Options& options) const {
  return shares_->receive_need(remote_producers(options), options.stored);
}

Result<std::unique_ptr<ShuffleEnvironment::Reservation>> PipelinedEnvironment::reserve(
    const JobId& job, const BufferNeed& need) {
  class Kept final : public Reservation {
   public:
    Kept(std::shared_ptr<MemoryShares> shares, const JobId& job)
        : shares_(std::move(shares)), job_(job) {}
    ~Kept() override { shares_->end_expectation(job_); }

   private:
    const std::shared_ptr<MemoryShares> shares_;
    const JobId job_;
  };
  RETURN_IF_ERROR(shares_->expect(job, need));
  return std::unique_ptr<Reservation>(std::make_unique<Kept>(shares_, job));
}

Result<ReceiveMemory> PipelinedEnvironment::reserve_receive(const InputGate::Options& options) {
  const uint64_t remote = remote_producers(options);
  // Producers that move to another process later have a small window each.
  if (remote == 0) return ReceiveMemory{kSmallBlockBytes, 0, 0};
  return shares_->reserve_receive(options.job, remote, options_.gate_budget_bytes, options.stored);
}

Result<std::shared_ptr<InputGate>> PipelinedEnvironment::create_gate(
    const InputGate::Options& options) {
  ASSIGN_OR_RETURN(const ReceiveMemory receive, reserve_receive(options));
  PipelinedGate::Context context;
  context.self = options_.task_manager;
  context.receive = receive;
  context.index = index_;
  context.pool = pool_;
  context.connect = [connections = connections_](const auto& location, const auto& inbox,
                                                 const auto& source) {
    return connections->attach(location, inbox, source);
  };
  context.on_release = [gates = gates_, shares = shares_, job = options.job, receive] {
    if (receive.reserved_bytes != 0) shares->give_back(job, receive);
    gates->fetch_sub(1);
  };
  gates_->fetch_add(1);
  Result<std::shared_ptr<PipelinedGate>> gate = PipelinedGate::create(options, std::move(context));
  if (!gate.ok()) return gate.status();
  return std::shared_ptr<InputGate>(std::move(gate).value());
}

}  // namespace freshet
