#include "runtime/app/job_manager_runner.h"

#include <future>

namespace freshet {

JobManagerRunner::JobManagerRunner(const Options& options, Transport& transport, Clock& clock,
                                   FileSystem& files, Faults* faults)
    : random_(make_system_random()),
      no_faults_(make_no_faults()),
      main_("jm-main", clock),
      io_("jm-io", clock),
      job_manager_({options.bind, options.state_directory, options.configuration,
                    options.explanation_patience},
                   transport, main_, io_, clock, *random_, files,
                   faults != nullptr ? *faults : *no_faults_),
      queries_(job_manager_, main_, clock, options.configuration, files, options.process) {}

JobManagerRunner::~JobManagerRunner() { stop(); }

Result<Address> JobManagerRunner::start() {
  Result<Address> address = job_manager_.start();
  started_ = address.ok();
  return address;
}

void JobManagerRunner::stop() {
  if (stopped_) return;
  stopped_ = true;
  if (started_) {
    std::promise<void> stopped;
    job_manager_.stop([&stopped] { stopped.set_value(); });
    stopped.get_future().wait();
  }
  io_.stop();
  main_.stop();
}

}  // namespace freshet
