#include "tests/bench/latency_sides.h"

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "network/asio_transport.h"
#include "runtime/base/file_system.h"
#include "tests/bench/interruption.h"
#include "tests/integration/freshet_process.h"

namespace freshet::bench {

namespace {

constexpr JobId kJob{1, 1};
constexpr Duration kInterruptionCheck = 100ms;

Result<std::unique_ptr<ShuffleEnvironment>> make_environment(uint64_t id, Transport& transport) {
  ShuffleEnvironment::Options options;
  options.task_manager = TaskManagerId{id};
  options.bind = Address{"127.0.0.1", 0};
  return ShuffleEnvironment::create(options, transport);
}

bool await_file(const std::string& path) {
  return testing::wait_until([&] { return testing::exists(path); }, 3600s);
}

}  // namespace

/// What other threads tell the reading thread. Thread-safe.
class LatencyReader::Signals {
 public:
  void raise() {
    std::lock_guard lock(mutex_);
    raised_ = true;
    changed_.notify_one();
  }

  void lose(const Status& cause) {
    std::lock_guard lock(mutex_);
    loss_ = cause;
    raised_ = true;
    changed_.notify_one();
  }

  /// Until one was raised since the last wait, but not for ever; then the loss, if there was one.
  Status wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kInterruptionCheck, [this] { return raised_; });
    raised_ = false;
    return loss_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
  Status loss_;
};

namespace {

class PartitionWriter {
 public:
  Status open(ShuffleEnvironment& environment) {
    ResultPartition::Options options;
    options.job = kJob;
    options.fixed_record_size = sizeof(int64_t);
    options.wake = [space = space_] { space->raise(); };
    ASSIGN_OR_RETURN(partition_, environment.create_partition(options));
    partition_->watch(&full_, nullptr);
    return Status();
  }

  bool put(TimePoint due) {
    if (full_) [[unlikely]]
      wait_for_space();
    const int64_t nanos = due.time_since_epoch().count();
    partition_->write(0, kNoTimestamp, sizeof(nanos),
                      [nanos](Encoder& encoder) { encoder.write_fixed(nanos); });
    return true;
  }

  bool flush() {
    partition_->flush();
    return true;
  }

  void end() { partition_->end_of_data(); }
  void release() { partition_->release(); }

 private:
  struct Space {
    void raise() {
      std::lock_guard lock(mutex);
      raised = true;
      changed.notify_one();
    }
    std::mutex mutex;
    std::condition_variable changed;
    bool raised = false;
  };

  void wait_for_space() {
    while (!partition_->available()) {
      std::unique_lock lock(space_->mutex);
      space_->changed.wait_for(lock, 10ms, [this] { return space_->raised; });
      space_->raised = false;
    }
    full_ = false;
  }

  const std::shared_ptr<Space> space_ = std::make_shared<Space>();
  std::shared_ptr<ResultPartition> partition_;
  bool full_ = false;
};

}  // namespace

Status run_latency_writer(const LatencyLoad& load, const std::string& directory) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const std::unique_ptr<Transport> transport = make_asio_transport({.threads = 1});
  ASSIGN_OR_RETURN(const auto environment, make_environment(1, *transport));
  PartitionWriter writer;
  RETURN_IF_ERROR(writer.open(*environment));
  testing::write_file(directory + "/address", environment->data_address().to_string());
  await_file(directory + "/begin");
  const bool in_time = write_paced(load, *clock, writer);
  writer.end();
  await_file(directory + "/end");
  writer.release();
  environment->shut_down();
  return in_time ? Status() : resource_exhausted("the writer cannot send so many records");
}

LatencyReader::LatencyReader(const LatencyLoad& load, Address producer)
    : load_(load), producer_(std::move(producer)), signals_(std::make_shared<Signals>()) {}

LatencyReader::~LatencyReader() {
  if (gate_) gate_->release();
  if (environment_) environment_->shut_down();
}

Status LatencyReader::attach() {
  transport_ = make_asio_transport({.threads = 1});
  ASSIGN_OR_RETURN(environment_, make_environment(2, *transport_));
  InputGate::Options options;
  options.job = kJob;
  options.consumer = AttemptId{kJob, SubtaskId{VertexId{1}, 0}, 0};
  options.locations = {{TaskManagerId{1}, producer_}};
  options.producers = {{0, 1, 0, 0}};
  options.fixed_record_size = sizeof(int64_t);
  options.wake = [signals = signals_] { signals->raise(); };
  options.on_loss = [signals = signals_](const ChannelLoss& loss) { signals->lose(loss.cause); };
  ASSIGN_OR_RETURN(gate_, environment_->create_gate(options));
  return Status();
}

void LatencyReader::take(LatencyNotes& notes) {
  const bool never = false;
  const auto note = [&](std::string_view payload, TimePoint now) {
    int64_t nanos = 0;
    std::memcpy(&nanos, payload.data(), sizeof(nanos));
    notes.add(TimePoint(Duration(nanos)), now);
  };
  while (const auto producer = gate_->next_ready()) {
    const TimePoint now = clock_->now();
    std::string_view payload;
    EpochMillis timestamp = kNoTimestamp;
    if (auto run = gate_->begin_run(*producer, UINT32_MAX, &never)) {
      while (run->next(&payload, &timestamp)) note(payload, now);
      gate_->end_run(*producer, *run);
    } else if (const auto element = gate_->take_from(*producer)) {
      note(element->payload, now);
    }
  }
}

Result<LatencyTaken> LatencyReader::read_all() {
  LatencyNotes notes(load_);
  while (true) {
    take(notes);
    if (gate_->ended()) return notes.taken();
    RETURN_IF_ERROR(signals_->wait());
    RETURN_IF_ERROR(check_interrupted());
  }
}

}  // namespace freshet::bench
