#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "runtime/app/process_host.h"
#include "runtime/app/security.h"
#include "runtime/base/process_environment.h"
#include "runtime/base/standard_streams.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/command.h"
#include "runtime/cli/job_preparation.h"
#include "runtime/graph/json_plan.h"

namespace freshet::cli {

namespace {

struct UploadOptions {
  JobOptions job;
  std::string job_manager;  // Empty: only the plan is wanted.
  int parent = 0;
  std::vector<std::string> settings;  // Words of all names and values, one after the other.
};

Result<Configuration> configuration_of(const std::vector<std::string>& words) {
  Configuration configuration;
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    RETURN_IF_ERROR(configuration.set(words[i], words[i + 1]));
  RETURN_IF_ERROR(configuration.check_all());
  RETURN_IF_ERROR(refuse_settings_of_processes(configuration));
  if (configuration.has(config::kSecret))
    return invalid_argument(fmt::format("{} is nothing for a job", config::kSecret.name));
  return configuration;
}

Result<std::string> build(const UploadOptions& options) {
  ASSIGN_OR_RETURN(const Configuration configuration, configuration_of(options.settings));
  ASSIGN_OR_RETURN(const BuildOptions build, build_options(options.job, configuration));
  ASSIGN_OR_RETURN(const PreparedJob job, prepare_job(options.job, build, configuration));
  const Submission& submission = job.submission;
  if (options.job_manager.empty())
    return json_plan(submission.graph, JobId().to_string(), submission.name);
  ClusterSelection selection;
  selection.job_manager = options.job_manager;
  selection.secret = environment_variable(kSecretVariable).value_or("");
  ASSIGN_OR_RETURN(const auto connection, ClusterConnection::connect(selection));
  RETURN_IF_ERROR(connection->client().put_blob(submission.module_hash, job.module_bytes));
  ASSIGN_OR_RETURN(const JobId id, connection->client().submit(submission));
  return id.to_string();
}

bool may_help_later(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded ||
         code == StatusCode::kResourceExhausted;
}

int build_and_tell(const UploadOptions& options) {
  if (!end_with_parent(options.parent).ok()) return kExitFailed;
  // What the job prints is for nobody.
  const int answer = silence_standard_streams();
  const auto built = build(options);
  std::string text;
  if (built.ok()) {
    text = "built\n" + *built;
  } else {
    text =
        (may_help_later(built.status().code()) ? "later\n" : "wrong\n") + built.status().message();
  }
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t part = write(answer, text.data() + sent, text.size() - sent);
    if (part <= 0) return kExitFailed;
    sent += static_cast<size_t>(part);
  }
  return kExitOk;
}

}  // namespace

void add_upload_command(CLI::App& parser, const Invocation& invocation,
                        std::vector<Command>& commands) {
  auto options = std::make_shared<UploadOptions>();
  options->job.arguments = invocation.job_arguments;
  CLI::App* const upload = parser.add_subcommand("build-upload", "Started by a JobManager");
  upload->group("");  // Not shown in --help.
  add_job_options(*upload, options->job);
  upload->add_option("--jobmanager", options->job_manager);
  upload->add_option("--parent", options->parent)->required();
  upload->add_option("--setting", options->settings)->take_all();
  commands.push_back({upload, [options] { return build_and_tell(*options); }});
}

}  // namespace freshet::cli
