#include "runtime/app/exit_reporter.h"

#include <utility>

#include "network/asio_transport.h"
#include "runtime/app/control_client.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {
constexpr Duration kPatience = 1s;  // Later the JobManager has decided without it.
}

ExitReporter::ExitReporter(std::string secret, std::string host_id, const Clock& clock)
    : secret_(std::move(secret)),
      host_id_(std::move(host_id)),
      clock_(clock),
      transport_(make_asio_transport({})),
      thread_("exit-reporter", clock) {}

ExitReporter::~ExitReporter() { thread_.stop(); }

void ExitReporter::report(const Address& job_manager, const ProcessExit& exit) {
  thread_.post("report_exit", [this, job_manager, exit] {
    const Status sent = send(job_manager, exit);
    if (!sent.ok()) LOG_WARN("exit_not_reported", {{"pid", exit.process.pid}, {"cause", sent}});
  });
}

Status ExitReporter::send(const Address& job_manager, const ProcessExit& exit) {
  ControlClient::Options options;
  options.job_manager = job_manager;
  options.secret = secret_;
  options.connect_timeout = options.request_timeout = kPatience;
  ASSIGN_OR_RETURN(const auto client, ControlClient::connect(options, *transport_, clock_));
  return client->process_ended(host_id_, static_cast<uint32_t>(exit.process.pid), exit.how);
}

}  // namespace freshet
