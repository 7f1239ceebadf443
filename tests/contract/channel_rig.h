#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "network/asio_transport.h"
#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/thread_executor.h"
#include "shuffle/shuffle_environment.h"

namespace freshet {

enum class RigKind { kLocal, kRemoteInProcess, kRemoteTcp, kRemoteUnix };

/// Counts what woke somebody; shared with callbacks that may outlive a test's objects.
class Signals {
 public:
  void raise() {
    std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void lose(const ChannelLoss& loss) {
    std::lock_guard lock(mutex_);
    losses_.push_back(loss);
    ++count_;
    changed_.notify_all();
  }
  std::vector<ChannelLoss> losses() const {
    std::lock_guard lock(mutex_);
    return losses_;
  }
  uint64_t count() const {
    std::lock_guard lock(mutex_);
    return count_;
  }
  /// Until something is raised, or a moment passed.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 2ms);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t count_ = 0;
  std::vector<ChannelLoss> losses_;
};

/// A producing and a consuming environment (the same one for kLocal) and the way between them.
class ChannelRig {
 public:
  struct Settings {
    uint64_t pool_bytes = 8u << 20;
    uint64_t gate_budget_bytes = 4u << 20;
    uint64_t overdraft_bytes_max = 1ull << 40;  // Nothing to pay back.
    bool disk_on_thread = false;                // As with real sockets.
    bool timed = false;                         // What comes by time comes.
  };

  ChannelRig(RigKind kind, Settings settings) : kind_(kind), settings_(settings) {
    if (on_threads() || settings.disk_on_thread)
      disk_ = &disk_thread_.emplace("disk", *system_clock_);
    if (on_threads()) {
      transport_ = make_asio_transport({.threads = 2});
    } else {
      transport_ = std::make_unique<LocalTransport>(executor_);
    }
    producers_ = make(1);
    if (kind != RigKind::kLocal) consumers_ = make(2);
  }

  ~ChannelRig() {
    if (producers_) settle_and_check(*producers_);
    if (consumers_) settle_and_check(*consumers_);
    if (consumers_) consumers_->shut_down();
    if (producers_) producers_->shut_down();
    run();
    consumers_ = nullptr;
    producers_ = nullptr;
    if (disk_thread_) disk_thread_->stop();
    EXPECT_TRUE(files_.files().empty());  // What was spilled is gone.
  }

  /// Real sockets: things happen by themselves, on threads of the transport.
  bool on_threads() const { return kind_ == RigKind::kRemoteTcp || kind_ == RigKind::kRemoteUnix; }

  /// Over a Unix socket there is no other way.
  InputGate::ProducerLocation producer_location() const {
    if (kind_ != RigKind::kRemoteUnix) return {TaskManagerId{1}, producers_->data_address()};
    return {TaskManagerId{1}, Address{"127.0.0.1", 1}, producers_->unix_data_address()};
  }

  bool remote() const { return kind_ != RigKind::kLocal; }
  ShuffleEnvironment& producing() { return *producers_; }
  ShuffleEnvironment& consuming() { return consumers_ ? *consumers_ : *producers_; }
  Signals& signals() { return *signals_; }
  MemoryFileSystem& files() { return files_; }

  ResultPartition::Options partition_options(uint32_t producer, uint32_t subpartitions) {
    ResultPartition::Options options;
    options.job = job_;
    options.producer = producer;
    options.subpartitions = subpartitions;
    options.wake = [signals = signals_] { signals->raise(); };
    return options;
  }

  InputGate::Options gate_options(uint32_t subpartition, uint32_t producers) {
    InputGate::Options options;
    options.job = job_;
    options.subpartition = subpartition;
    options.consumer = AttemptId{job_, SubtaskId{VertexId{7}, subpartition}, 0};
    options.locations = {producer_location()};
    options.producers = {{0, producers, 0, 0}};
    options.wake = [signals = signals_] { signals->raise(); };
    options.on_loss = [signals = signals_](const ChannelLoss& loss) { signals->lose(loss); };
    return options;
  }

  std::shared_ptr<ResultPartition> partition(const ResultPartition::Options& options) {
    auto made = producers_->create_partition(options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? *made : nullptr;
  }

  std::shared_ptr<InputGate> gate(const InputGate::Options& options) {
    auto made = consuming().create_gate(options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? *made : nullptr;
  }

  /// Lets everything happen that can happen by itself.
  void run() {
    if (!on_threads()) executor_.run_ready();
  }

  /// One thing of those.
  void run_one() {
    if (!on_threads()) executor_.run_one();
  }

  /// True once `condition` holds.
  template <class Condition>
  bool wait_until(Condition&& condition) {
    for (int round = 0; round < 10'000; ++round) {
      if (condition()) return true;
      if (on_threads()) {
        signals_->wait();
      } else if (!executor_.run_one()) {
        if (!settings_.timed) return condition();
        executor_.advance(1ms);
      }
    }
    return false;
  }

  ManualExecutor& executor() { return executor_; }

 private:
  std::unique_ptr<ShuffleEnvironment> make(uint64_t id) {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{id};
    options.bind = Address{"127.0.0.1", 0};
    if (kind_ == RigKind::kRemoteUnix) {
      options.unix_bind.emplace().unix_socket =
          "@freshet-rig-" + std::to_string(getpid()) + "-" + std::to_string(id);
    }
    options.pool_bytes = settings_.pool_bytes;
    options.gate_budget_bytes = settings_.gate_budget_bytes;
    options.overdraft_bytes_max = settings_.overdraft_bytes_max;
    options.spill = SpillPlace{&files_, "/spill/" + std::to_string(id), disk_, {}};
    options.store = SpillPlace{&files_, "/stored/" + std::to_string(id), disk_, {}};
    options.secret = "secret";
    if (settings_.timed) options.timers = disk_;
    auto made = ShuffleEnvironment::create(options, *transport_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return std::move(made).value();
  }

  void settle_and_check(ShuffleEnvironment& environment) {
    EXPECT_TRUE(wait_until([&] { return environment.free_bytes() == environment.total_bytes(); }))
        << environment.free_bytes() << " of " << environment.total_bytes() << " bytes are free";
  }

  const RigKind kind_;
  const Settings settings_;
  const JobId job_{1, 2};
  MemoryFileSystem files_;
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  const std::unique_ptr<Clock> system_clock_ = make_system_clock();
  std::optional<ThreadExecutor> disk_thread_;
  Executor* disk_ = &executor_;
  std::shared_ptr<Signals> signals_ = std::make_shared<Signals>();
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ShuffleEnvironment> producers_;
  std::unique_ptr<ShuffleEnvironment> consumers_;
};

inline std::string rig_name(const ::testing::TestParamInfo<RigKind>& info) {
  switch (info.param) {
    case RigKind::kLocal:
      return "Local";
    case RigKind::kRemoteInProcess:
      return "RemoteInProcess";
    case RigKind::kRemoteUnix:
      return "RemoteUnix";
    default:
      return "RemoteTcp";
  }
}

/// What a gate gave, copied.
struct Received {
  ElementKind kind = ElementKind::kRecord;
  uint32_t producer = 0;
  EpochMillis timestamp = 0;
  std::string payload;
  bool operator==(const Received&) const = default;
};

inline void write_record(ResultPartition& partition, uint32_t subpartition,
                         std::string_view payload, EpochMillis timestamp = INT64_MIN,
                         uint32_t fixed_size = 0) {
  partition.write(subpartition, timestamp, fixed_size,
                  [&](Encoder& encoder) { encoder.write(payload.data(), payload.size()); });
}

/// Takes what can be taken now.
inline void drain(InputGate& gate, std::vector<Received>* received) {
  while (const auto producer = gate.next_ready()) {
    const auto element = gate.take_from(*producer);
    ASSERT_TRUE(element.has_value());
    ASSERT_EQ(element->producer, *producer);
    received->push_back(
        {element->kind, element->producer, element->timestamp, std::string(element->payload)});
  }
}

}  // namespace freshet
