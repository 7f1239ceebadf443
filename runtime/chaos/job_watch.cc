#include "runtime/chaos/job_watch.h"

#include <utility>

#include "network/asio_transport.h"

namespace freshet::chaos {

namespace {
constexpr Duration kRequestTimeout = 1s;
}

JobWatch::JobWatch(Options options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      transport_(make_asio_transport({})),
      thread_("job-watch", clock) {
  thread_.post("tick", [this] { tick(); });
}

JobWatch::~JobWatch() { thread_.stop(); }

JobWatch::View JobWatch::view() const {
  MutexLock lock(mutex_);
  return view_;
}

JobWatch::Brief JobWatch::brief() const {
  MutexLock lock(mutex_);
  Brief brief{view_.submitted, view_.submission_began, std::nullopt, view_.answers,
              view_.forgotten};
  brief.job = view_.report;
  return brief;
}

void JobWatch::submit(Submission submission, std::string module_bytes, size_t task_managers) {
  thread_.post("submit", [this, pending = Pending{std::move(submission), std::move(module_bytes),
                                                  task_managers}]() mutable {
    pending_ = std::move(pending);
  });
}

uint64_t JobWatch::fail_task(const std::string& vertex, uint32_t subtask, ProvokedFailure failure) {
  uint64_t request = 0;
  JobId job;
  {
    MutexLock lock(mutex_);
    request = next_request_++;
    job = view_.job;
  }
  thread_.post("fail_task", [this, request, job, vertex, subtask, failure] {
    const auto connected = client();
    Result<std::string> outcome = connected.ok()
                                      ? (*connected)->fail_task(job, vertex, subtask, failure)
                                      : Result<std::string>(connected.status());
    MutexLock lock(mutex_);
    outcomes_.emplace(request, std::move(outcome));
  });
  return request;
}

std::optional<Result<std::string>> JobWatch::outcome_of(uint64_t request) const {
  MutexLock lock(mutex_);
  const auto found = outcomes_.find(request);
  if (found == outcomes_.end()) return std::nullopt;
  return found->second;
}

void JobWatch::cancel() {
  thread_.post("cancel", [this] {
    const auto connected = client();
    if (connected.ok()) static_cast<void>((*connected)->cancel(view().job));
  });
}

Result<ControlClient*> JobWatch::client() {
  if (client_ == nullptr) {
    ControlClient::Options options;
    options.job_manager = options_.job_manager;
    options.secret = options_.secret;
    options.connect_timeout = kRequestTimeout;
    options.request_timeout = kRequestTimeout;
    ASSIGN_OR_RETURN(client_, ControlClient::connect(options, *transport_, clock_));
  }
  return client_.get();
}

void JobWatch::tick() {
  const Status status = ask();
  // Nothing that was asked for is wrong with the connection itself.
  const bool lost = !status.ok() && status.code() != StatusCode::kNotFound;
  if (lost) client_.reset();
  {
    MutexLock lock(mutex_);
    view_.answers = !lost;
    if (status.code() == StatusCode::kNotFound) view_.forgotten = true;
  }
  thread_.schedule(kInterval, "tick", [this] { tick(); });
}

Status JobWatch::ask() {
  ASSIGN_OR_RETURN(ControlClient* const connected, client());
  ASSIGN_OR_RETURN(auto task_managers, connected->task_managers());
  const size_t registered = task_managers.size();
  JobId job;
  {
    MutexLock lock(mutex_);
    view_.task_managers = std::move(task_managers);
    if (view_.submitted.ok()) job = view_.job;
  }
  if (pending_ && registered >= pending_->task_managers) return submit_pending();
  if (job == JobId()) return Status();
  JobDetails details;
  if (options_.tasks) {
    ASSIGN_OR_RETURN(details, connected->details(job));
  } else {
    ASSIGN_OR_RETURN(details.job, connected->get(job));
  }
  MutexLock lock(mutex_);
  view_.report = std::move(details.job);
  view_.tasks = std::move(details.tasks);
  return Status();
}

Status JobWatch::submit_pending() {
  const Pending pending = *std::move(pending_);
  pending_.reset();
  {
    MutexLock lock(mutex_);
    view_.submission_began = clock_.now();
  }
  Status status = client_->put_blob(pending.submission.module_hash, pending.module_bytes);
  Result<JobId> job = status.ok() ? client_->submit(pending.submission) : Result<JobId>(status);
  MutexLock lock(mutex_);
  view_.submitted = job.status();
  if (job.ok()) view_.job = *job;
  return Status();
}

}  // namespace freshet::chaos
