#include "runtime/base/key_groups.h"
#include "runtime/graph/job_module.h"
#include "runtime/proto/graph.pb.h"

namespace freshet {

void to_proto(const BuildOptions& options, proto::BuildOptionsProto* message) {
  message->Clear();
  for (const std::string& argument : options.arguments) message->add_arguments(argument);
  message->set_parallelism(options.parallelism);
  message->set_mode(static_cast<uint32_t>(options.mode));
  for (const auto& [name, value] : options.configuration) {
    (*message->mutable_configuration())[name] = value;
  }
}

Result<BuildOptions> from_proto(const proto::BuildOptionsProto& message) {
  if (message.parallelism() == 0 || message.parallelism() > kMaxStatelessParallelism) {
    return invalid_argument("build options: parallelism " + std::to_string(message.parallelism()) +
                            " is not between 1 and " + std::to_string(kMaxStatelessParallelism));
  }
  if (message.mode() > static_cast<uint32_t>(RuntimeMode::kAutomatic)) {
    return invalid_argument("build options: there is no mode " + std::to_string(message.mode()));
  }
  BuildOptions options;
  options.arguments.assign(message.arguments().begin(), message.arguments().end());
  options.parallelism = message.parallelism();
  options.mode = static_cast<RuntimeMode>(message.mode());
  for (const auto& [name, value] : message.configuration()) {
    options.configuration.emplace(name, value);
  }
  return options;
}

}  // namespace freshet
