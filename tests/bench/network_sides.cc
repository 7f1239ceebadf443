#include "tests/bench/network_sides.h"

#include <atomic>

#include "network/asio_transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/thread_executor.h"
#include "tests/integration/freshet_process.h"

namespace freshet::bench {

namespace {

constexpr uint64_t kPoolBytes = 512u << 20;  // As Flink's benchmark: four buffers per channel.
constexpr uint64_t kGateBudgetBytes = 256u << 10;
constexpr JobId kJob{1, 1};

Address unix_address_in(const std::string& directory) {
  Address address;
  address.unix_socket = directory + "/data";
  return address;
}

Result<std::unique_ptr<ShuffleEnvironment>> make_environment(uint64_t id, Transport& transport,
                                                             std::optional<Address> unix_bind) {
  ShuffleEnvironment::Options options;
  options.task_manager = TaskManagerId{id};
  options.bind = Address{"127.0.0.1", 0};
  options.unix_bind = std::move(unix_bind);
  options.pool_bytes = kPoolBytes;
  options.gate_budget_bytes = kGateBudgetBytes;
  return ShuffleEnvironment::create(options, transport);
}

/// One writing thread's part.
class Writer {
 public:
  Writer(const NetworkLoad& load, uint32_t index) : load_(load), index_(index) {}

  Status open(ShuffleEnvironment& environment) {
    ResultPartition::Options options;
    options.job = kJob;
    options.producer = index_;
    options.subpartitions = load_.channels;
    options.fixed_record_size = sizeof(uint64_t);
    options.wake = [wakeup = wakeup_] { wakeup->raise(); };
    ASSIGN_OR_RETURN(partition_, environment.create_partition(options));
    partition_->watch(&full_, nullptr);
    return Status();
  }

  void request_flush() { flush_due_.store(true, std::memory_order_relaxed); }

  void run() {
    const uint64_t last = load_.records_of_writer();
    uint32_t channel = 0;
    for (uint64_t i = 0; i + 1 < last; ++i) {
      put(channel, 0);
      channel = channel + 1 == load_.channels ? 0 : channel + 1;
      if (flush_due_.load(std::memory_order_relaxed)) [[unlikely]] {
        flush_due_.store(false, std::memory_order_relaxed);
        partition_->flush();
      }
    }
    for (uint32_t c = 0; c < load_.channels; ++c) put(c, last);
    partition_->end_of_data();
  }

  void release() { partition_->release(); }

 private:
  struct Wakeup {
    void raise() {
      std::lock_guard lock(mutex);
      ++count;
      changed.notify_all();
    }
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t count = 0;
  };

  void put(uint32_t channel, uint64_t value) {
    if (full_) [[unlikely]]
      wait_for_space();
    partition_->write_plain(channel, kNoTimestamp, value);
  }

  void wait_for_space() {
    std::unique_lock lock(wakeup_->mutex);
    while (!partition_->available()) {
      const uint64_t seen = wakeup_->count;
      wakeup_->changed.wait_for(lock, 10ms, [&] { return wakeup_->count != seen; });
    }
    full_ = false;
  }

  const NetworkLoad& load_;
  const uint32_t index_;
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  std::shared_ptr<ResultPartition> partition_;
  bool full_ = false;
  std::atomic<bool> flush_due_{false};
};

void flush_in_time(Executor& timer, Duration interval,
                   const std::vector<std::unique_ptr<Writer>>& to) {
  timer.schedule(interval, "flush", [&timer, interval, &to] {
    for (const auto& writer : to) writer->request_flush();
    flush_in_time(timer, interval, to);
  });
}

bool await_file(const std::string& path) {
  return testing::wait_until([&] { return testing::exists(path); }, 3600s);
}

}  // namespace

Status run_network_writers(const NetworkLoad& load, const std::string& directory) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const std::unique_ptr<Transport> transport = make_asio_transport({.threads = 1});
  ASSIGN_OR_RETURN(const auto environment,
                   make_environment(1, *transport,
                                    load.unix_socket ? std::optional(unix_address_in(directory))
                                                     : std::nullopt));
  std::vector<std::unique_ptr<Writer>> writers;
  for (uint32_t i = 0; i < load.writers; ++i) {
    writers.push_back(std::make_unique<Writer>(load, i));
    RETURN_IF_ERROR(writers.back()->open(*environment));
  }
  testing::write_file(directory + "/address.part", environment->data_address().to_string());
  RETURN_IF_ERROR(
      make_local_file_system()->rename(directory + "/address.part", directory + "/address"));
  await_file(directory + "/begin");
  {
    ThreadExecutor timer("flush", *clock);
    flush_in_time(timer, load.flush, writers);
    std::vector<std::unique_ptr<ThreadExecutor>> threads;
    for (const auto& writer : writers) {
      threads.push_back(std::make_unique<ThreadExecutor>("writer", *clock));
      threads.back()->post("write", [&writer] { writer->run(); });
    }
    for (const auto& thread : threads) thread->stop();
    timer.stop();
  }
  await_file(directory + "/end");
  for (const auto& writer : writers) writer->release();
  environment->shut_down();
  return Status();
}

void NetworkReader::Ready::add(uint32_t gate) {
  std::lock_guard lock(mutex_);
  gates_.push_back(gate);
  if (gates_.size() == 1) changed_.notify_one();
}

std::vector<uint32_t> NetworkReader::Ready::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !gates_.empty(); });
  return std::exchange(gates_, {});
}

NetworkReader::NetworkReader(const NetworkLoad& load, Address producers,
                             const std::string& directory)
    : load_(load), producers_{TaskManagerId{1}, std::move(producers)} {
  if (load.unix_socket) producers_.unix_address = unix_address_in(directory);
}

NetworkReader::~NetworkReader() {
  for (const auto& gate : gates_) gate->release();
  if (environment_) environment_->shut_down();
}

Status NetworkReader::attach() {
  transport_ = make_asio_transport({.threads = 1});
  ASSIGN_OR_RETURN(environment_, make_environment(2, *transport_, std::nullopt));
  for (uint32_t channel = 0; channel < load_.channels; ++channel) {
    InputGate::Options options;
    options.job = kJob;
    options.subpartition = channel;
    options.consumer = AttemptId{kJob, SubtaskId{VertexId{1}, channel}, 0};
    options.locations = {producers_};
    options.producers = {{0, load_.writers, 0, 0}};
    options.fixed_record_size = sizeof(uint64_t);
    options.wake = [ready = ready_, channel] { ready->add(channel); };
    ASSIGN_OR_RETURN(auto gate, environment_->create_gate(options));
    gates_.push_back(std::move(gate));
  }
  return Status();
}

void NetworkReader::read_gate(InputGate& gate) {
  const uint64_t last = load_.records_of_writer();
  const bool never = false;
  uint64_t value = 0;
  while (const auto producer = gate.next_ready()) {
    if (auto run = gate.begin_run(*producer, UINT32_MAX, &never)) {
      const std::string_view values = run->next_plain(UINT32_MAX);
      for (size_t at = 0; at < values.size(); at += sizeof(value)) {
        std::memcpy(&value, values.data() + at, sizeof(value));
        if (value == last) ++ended_;
      }
      records_ += run->records();
      gate.end_run(*producer, *run);
    } else if (const auto element = gate.take_from(*producer)) {
      std::memcpy(&value, element->payload.data(), sizeof(value));
      if (value == last) ++ended_;
      ++records_;
    }
  }
}

Status NetworkReader::read_all() {
  while (ended_ < uint64_t{load_.writers} * load_.channels) {
    for (const uint32_t gate : ready_->wait()) read_gate(*gates_[gate]);
  }
  const uint64_t sent = load_.records - load_.writers + uint64_t{load_.writers} * load_.channels;
  return records_ == sent ? Status() : data_loss("the reader missed values");
}

}  // namespace freshet::bench
