#include "taskmanager/progress_message.h"

#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"

namespace freshet {

void to_proto(const AttemptId& attempt, const TaskNumbers& numbers, proto::TaskProgress* to) {
  to_proto(attempt, to->mutable_attempt());
  to->set_records_in(numbers.records_in);
  to->set_records_out(numbers.records_out);
  to->set_bytes_in(numbers.bytes_in);
  to->set_bytes_out(numbers.bytes_out);
  to->set_buffers_out(numbers.buffers_out);
  to->set_source_records(numbers.source_records);
  to->set_busy_ms(numbers.busy_ms);
  to->set_idle_ms(numbers.idle_ms);
  to->set_back_pressured_ms(numbers.back_pressured_ms);
  to->set_hard_back_pressured_ms(numbers.hard_back_pressured_ms);
  to->set_local_bytes_in(numbers.local_bytes_in);
  to->set_remote_bytes_in(numbers.remote_bytes_in);
  to->set_local_buffers_in(numbers.local_buffers_in);
  to->set_remote_buffers_in(numbers.remote_buffers_in);
  to->set_initialization_ms(numbers.initialization_ms);
  to->set_inputs_read(numbers.inputs_read);
}

void to_proto(const TaskGauges& gauges, proto::TaskGauges* to) {
  to->set_records_in_per_second(gauges.records_in_per_second);
  to->set_records_out_per_second(gauges.records_out_per_second);
  to->set_bytes_in_per_second(gauges.bytes_in_per_second);
  to->set_bytes_out_per_second(gauges.bytes_out_per_second);
  to->set_buffers_out_per_second(gauges.buffers_out_per_second);
  to->set_source_records_per_second(gauges.source_records_per_second);
  to->set_busy_per_second(gauges.busy_per_second);
  to->set_idle_per_second(gauges.idle_per_second);
  to->set_back_pressured_per_second(gauges.back_pressured_per_second);
  to->set_in_pool_usage(gauges.in_pool_usage);
  to->set_floating_usage(gauges.floating_usage);
  to->set_out_pool_usage(gauges.out_pool_usage);
  to->set_input_queue_length(gauges.input_queue_length);
  to->set_output_queue_length(gauges.output_queue_length);
  to->set_back_pressured(gauges.back_pressured);
  to->set_local_bytes_in_per_second(gauges.local_bytes_in_per_second);
  to->set_remote_bytes_in_per_second(gauges.remote_bytes_in_per_second);
  to->set_local_buffers_in_per_second(gauges.local_buffers_in_per_second);
  to->set_remote_buffers_in_per_second(gauges.remote_buffers_in_per_second);
  to->set_hard_back_pressured_per_second(gauges.hard_back_pressured_per_second);
  to->set_exclusive_usage(gauges.exclusive_usage);
  to->set_input_queue_bytes(gauges.input_queue_bytes);
  to->set_output_queue_bytes(gauges.output_queue_bytes);
  to->set_latency_records(gauges.latency_records);
  to->set_latency_p50_ms(gauges.latency_p50_ms);
  to->set_latency_p95_ms(gauges.latency_p95_ms);
  to->set_latency_max_ms(gauges.latency_max_ms);
}

void to_proto(const TaskManagerNumbers& numbers, proto::TaskManagerStatus* to) {
  to->set_cpu_load(numbers.process.cpu_load);
  to->set_cpu_time_nanos(numbers.process.cpu_time_nanos);
  to->set_resident_bytes(numbers.process.resident_bytes);
  to->set_virtual_bytes(numbers.process.virtual_bytes);
  to->set_threads(numbers.process.threads);
  to->set_network_bytes(numbers.network_bytes);
  to->set_network_bytes_free(numbers.network_bytes_free);
  to->set_network_bytes_wanted(numbers.network_bytes_wanted);
  to->set_managed_bytes(numbers.managed_bytes);
  to->set_machine_cores(numbers.machine.cores);
  to->set_machine_bytes(numbers.machine.memory_bytes);
  to->set_machine_bytes_free(numbers.machine.memory_bytes_free);
}

}  // namespace freshet
