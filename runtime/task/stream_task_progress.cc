#include <algorithm>

#include "runtime/task/stream_task.h"

// What a task tells of itself to those who look on from other threads.

namespace freshet {

void StreamTask::count_elements() {
  if (released_) return;
  uint64_t records_in = 0, records_out = 0, bytes_in = 0, bytes_out = 0, buffers_out = 0;
  InputGate::Received received;
  for (const Input& input : inputs_) {
    records_in += input.gate->records_read();
    bytes_in += input.gate->bytes_read();
    const InputGate::Received more = input.gate->received();
    received.local_buffers += more.local_buffers;
    received.local_bytes += more.local_bytes;
    received.remote_buffers += more.remote_buffers;
    received.remote_bytes += more.remote_bytes;
  }
  for (const Output& output : outputs_) {
    records_out += output.partition->records_written();
    bytes_out += output.partition->bytes_written();
    buffers_out += output.partition->buffers_written();
  }
  const auto write = [this](Counter counter, uint64_t value) {
    counters_[counter].store(value, std::memory_order_relaxed);
  };
  write(kRecordsIn, records_in);
  write(kBytesIn, bytes_in);
  write(kRecordsOut, records_out);
  write(kBytesOut, bytes_out);
  write(kBuffersOut, buffers_out);
  write(kLocalBuffersIn, received.local_buffers);
  write(kLocalBytesIn, received.local_bytes);
  write(kRemoteBuffersIn, received.remote_buffers);
  write(kRemoteBytesIn, received.remote_bytes);
  if (chain_) write(kSourceRecords, chain_->source_records());
}

TaskProgress StreamTask::progress() const {
  const auto read = [this](Counter counter) {
    return counters_[counter].load(std::memory_order_relaxed);
  };
  TaskProgress progress;
  progress.records_in = read(kRecordsIn);
  progress.records_out = read(kRecordsOut);
  progress.bytes_in = read(kBytesIn);
  progress.bytes_out = read(kBytesOut);
  progress.buffers_out = read(kBuffersOut);
  progress.source_records = read(kSourceRecords);
  progress.local_buffers_in = read(kLocalBuffersIn);
  progress.local_bytes_in = read(kLocalBytesIn);
  progress.remote_buffers_in = read(kRemoteBuffersIn);
  progress.remote_bytes_in = read(kRemoteBytesIn);
  progress.inputs_read = read(kInputsRead);
  progress.initialization = Duration(read(kInitializationNanos));
  const TaskTimes::Times times = times_.read(environment_.clock.now());
  progress.busy = times.busy;
  progress.idle = times.idle;
  progress.back_pressured = times.back_pressured;
  progress.hard_back_pressured = times.hard_back_pressured;
  return progress;
}

std::string StreamTask::running_operator() const {
  const std::string* const name = running_.name.load(std::memory_order_acquire);
  return name != nullptr ? *name : std::string();
}

TaskLoad StreamTask::load() const {
  TaskLoad load;
  for (const Input& input : inputs_) {
    const InputGate::Load gate = input.gate->load();
    load.input_queue_length += gate.buffers;
    load.input_queue_bytes += gate.bytes;
    load.exclusive_usage = std::max(load.exclusive_usage, gate.exclusive_usage);
    load.in_pool_usage = std::max(load.in_pool_usage, gate.pool_usage);
    load.floating_usage = std::max(load.floating_usage, gate.floating_usage);
  }
  for (const Output& output : outputs_) {
    load.output_queue_length += output.partition->buffers_waiting();
    load.output_queue_bytes += output.partition->bytes_waiting();
    load.out_pool_usage = std::max(load.out_pool_usage, output.partition->pool_usage());
  }
  load.back_pressured =
      times_.read(environment_.clock.now()).now == TaskTimes::Kind::kBackPressured;
  return load;
}

}  // namespace freshet
