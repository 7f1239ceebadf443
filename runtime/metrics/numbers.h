#pragma once

#include <cstdint>

namespace freshet {

// What is counted, as plain values: TaskManagers report them, JobManagers and endpoints show them
// under the names of the catalog.

/// What cannot be derived from two TaskNumbers, or only over a longer time.
struct TaskGauges {
  // Over the last minute.
  float records_in_per_second = 0;
  float records_out_per_second = 0;
  float bytes_in_per_second = 0;
  float bytes_out_per_second = 0;
  float buffers_out_per_second = 0;
  float source_records_per_second = 0;
  float local_bytes_in_per_second = 0;
  float remote_bytes_in_per_second = 0;
  float local_buffers_in_per_second = 0;
  float remote_buffers_in_per_second = 0;
  // Over the last seconds, in milliseconds per second.
  float busy_per_second = 0;
  float idle_per_second = 0;
  float back_pressured_per_second = 0;
  float hard_back_pressured_per_second = 0;
  // Now.
  float in_pool_usage = 0;
  float floating_usage = 0;
  float exclusive_usage = 0;
  float out_pool_usage = 0;
  uint32_t input_queue_length = 0;
  uint32_t output_queue_length = 0;
  uint64_t input_queue_bytes = 0;
  uint64_t output_queue_bytes = 0;
  bool back_pressured = false;
  // Since the report before, of records that have a scheduled time and came to a sink.
  uint32_t latency_records = 0;  // 0: the next three have no meaning.
  float latency_p50_ms = 0;
  float latency_p95_ms = 0;
  float latency_max_ms = 0;
};

/// Of one attempt, since it started.
struct TaskNumbers {
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t source_records = 0;  // Read by the source in its chain; 0 where there is none.
  // Together the life of the attempt so far, in milliseconds.
  uint64_t busy_ms = 0;
  uint64_t idle_ms = 0;
  uint64_t back_pressured_ms = 0;
  uint64_t hard_back_pressured_ms = 0;  // Of that, in the middle of an element.
  uint64_t buffers_out = 0;
  // Buffers and their bytes, from producers of the same process and of others.
  uint64_t local_bytes_in = 0;
  uint64_t remote_bytes_in = 0;
  uint64_t local_buffers_in = 0;
  uint64_t remote_buffers_in = 0;
  uint64_t initialization_ms = 0;  // From INITIALIZING to RUNNING; 0 before that.
  // Its first 64 inputs, in the order of their datasets, the first the lowest bit: those of which
  // all has been taken.
  uint64_t inputs_read = 0;
  TaskGauges gauges = {};
};

/// Of one process, as the kernel sees it.
struct ProcessNumbers {
  double cpu_load = 0;  // Of the last seconds; 1: all cores of the machine.
  uint64_t cpu_time_nanos = 0;
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t threads = 0;
};

/// Of the machine that a process is on.
struct MachineNumbers {
  uint32_t cores = 0;
  uint64_t memory_bytes = 0;
  uint64_t memory_bytes_free = 0;  // What processes can have without swapping.
};

struct TaskManagerNumbers {
  ProcessNumbers process;
  // Of the memory for buffers.
  uint64_t network_bytes = 0;
  uint64_t network_bytes_free = 0;
  uint64_t network_bytes_wanted = 0;  // By all partitions and gates; may be more than there is.
  uint64_t managed_bytes = 0;         // For operators of batch jobs, an equal part in each slot.
  MachineNumbers machine = {};
};

struct ClusterNumbers {
  uint64_t task_managers = 0;
  uint64_t jobs_running = 0;
  uint64_t slots = 0;
  uint64_t slots_free = 0;
};

/// Times in milliseconds; 0 while the job is not in that state.
struct JobNumbers {
  uint64_t restarts = 0;
  int64_t uptime_ms = -1;  // -1: it does not run.
  int64_t created_ms = 0;
  int64_t deploying_ms = 0;
  int64_t running_ms = 0;
  int64_t restarting_ms = 0;
  int64_t failing_ms = 0;
  int64_t cancelling_ms = 0;
};

}  // namespace freshet
