#include "tests/fuzz/targets.h"

#include <google/protobuf/stubs/logging.h>

#include "runtime/base/log.h"

namespace freshet::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"channel", channel, channel_seeds},
      {"envelope", envelope, envelope_seeds},
      {"files", files, files_seeds},
      {"frames", frames, frames_seeds},
      {"gate", gate, gate_seeds},
      {"job_manager", job_manager, job_manager_seeds},
      {"job_module", job_module, job_module_seeds},
      {"partitions", partitions, partitions_seeds},
      {"records", records, records_seeds},
      {"rest_api", rest_api, rest_api_seeds},
      {"serving", serving, serving_seeds},
      {"settings", settings, settings_seeds},
      {"task_manager", task_manager, task_manager_seeds},
      {"texts", texts, texts_seeds},
  };
  return all;
}

void log_nothing() {
  google::protobuf::SetLogHandler(nullptr);
  log_to_sink([](void*, LogLevel, std::string_view) {}, nullptr);
}

}  // namespace freshet::fuzz
