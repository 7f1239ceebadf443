#include "runtime/chaos/job_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "network/asio_transport.h"
#include "runtime/base/configuration.h"

namespace freshet::chaos {

namespace {

constexpr Duration kPoll = 2ms;
constexpr uint64_t kLogBytesMax = 1u << 30;

bool has_task_faults(const std::vector<PlannedFault>& plan) {
  return std::any_of(plan.begin(), plan.end(), [](const PlannedFault& planned) {
    return info_of(planned.fault.kind).subject == FaultSubject::kTask;
  });
}

/// What one run knows while it goes on.
class Course {
 public:
  Course(const JobRun::Options& options, FaultTools& tools, ChaosCluster& cluster,
         FileSystem& files, const Clock& clock, SignalWaiter& signals)
      : options_(options),
        cluster_(cluster),
        clock_(clock),
        signals_(signals),
        transport_(make_asio_transport({})),
        watch_({cluster.job_manager(), options.cluster.secret, has_task_faults(options.plan)},
               clock),
        injector_(options.plan, tools, cluster, watch_, files, clock) {}

  /// Not ok: the job was refused.
  Status go(JobRun::Ending& ending) {
    Submission submission = options_.submission;
    schedule_from_now(submission);
    watch_.submit(std::move(submission), options_.module_bytes, options_.cluster.task_managers);
    deadline_ = clock_.now() + options_.patience;
    while (!over(ending)) {
      if (refused_) return brief_.submitted;
      cluster_.step();
      injector_.step(clock_.now());
      tell_fired();
      const auto signal = signals_.wait(kPoll);
      if (signal && *signal != SignalWaiter::Signal::kChild) interrupted_ = true;
      look(ending);
    }
    ending.ended = clock_.now();
    injector_.finish(clock_.now(), why_no_more(ending));
    ending.faults = injector_.outcomes();
    ending.job = brief_.job;
    if (sampler_ != nullptr) {
      sampler_->stop();
      ending.samples = sampler_->samples();
    }
    return Status();
  }

 private:
  /// Generators with a rate are not held up by what holds the job up: latency counts all of it.
  void schedule_from_now(Submission& submission) const {
    submission.build.configuration.try_emplace(std::string(config::kScheduleStart.name),
                                               std::to_string(clock_.epoch_millis()));
  }

  void look(JobRun::Ending& ending) {
    brief_ = watch_.brief();
    const StatusCode submitted = brief_.submitted.code();
    if (brief_.submitted.ok() && sampler_ == nullptr) {
      ending.submitted = clock_.now();
      ending.submitted_epoch = clock_.epoch_millis();
      ending.id = watch_.view().job;
      sampler_ = std::make_unique<Sampler>(
          Sampler::Options{cluster_.job_manager(), options_.cluster.secret}, ending.id,
          options_.submission.graph, *transport_, clock_);
    }
    refused_ = !brief_.submitted.ok() && submitted != StatusCode::kUnavailable;
    const bool runs = brief_.job && brief_.job->state != JobState::kCreated;
    if (!runs || ending.running) return;
    ending.running = clock_.now();
    injector_.start(clock_.now());
    Duration last(0);
    for (const PlannedFault& planned : options_.plan)
      last = std::max(last, planned.at.value_or(Duration(0)) + planned.fault.lasts);
    deadline_ = clock_.now() + last + options_.patience;
  }

  bool over(JobRun::Ending& ending) {
    if (interrupted_) {
      ending.interrupted = true;
      ending.status = aborted("interrupted");
    } else if (brief_.forgotten) {
      ending.status = unavailable(
          "the JobManager that was started again does not know the job: this version keeps jobs in "
          "memory only");
    } else if (brief_.job && is_terminal(brief_.job->state)) {
      ending.status = end_of(*brief_.job);
    } else if (clock_.now() > deadline_) {
      ending.status = deadline_exceeded(fmt::format(
          "the job did not end within {} of its last fault: {}", format_duration(options_.patience),
          brief_.job ? state_of(*brief_.job) : "it was not even submitted"));
    } else {
      return false;
    }
    return true;
  }

  static Status end_of(const JobReport& job) {
    if (job.state == JobState::kFinished) return Status();
    return aborted(fmt::format("the job ended {}: {}", to_string(job.state), job.cause.message()));
  }

  static std::string state_of(const JobReport& job) {
    std::string text = fmt::format("it is {}", to_string(job.state));
    if (!job.waiting_for.empty()) text += ", waits for " + job.waiting_for;
    if (!job.cause.ok()) text += fmt::format(" (last failure: {})", job.cause.message());
    return text;
  }

  static std::string why_no_more(const JobRun::Ending& ending) {
    if (ending.interrupted) return "the run was interrupted";
    return ending.status.ok() ? "the job had ended" : "the run had ended";
  }

  void tell_fired() {
    const auto& faults = injector_.outcomes();
    told_.resize(faults.size());
    for (size_t i = 0; i < faults.size(); i++) {
      if (!faults[i].fired || told_[i]) continue;
      told_[i] = true;
      if (options_.on_fired) options_.on_fired(faults[i]);
    }
  }

  const JobRun::Options& options_;
  ChaosCluster& cluster_;
  const Clock& clock_;
  SignalWaiter& signals_;
  const std::unique_ptr<Transport> transport_;
  std::unique_ptr<Sampler> sampler_;  // Once the job is there.
  JobWatch watch_;
  Injector injector_;
  JobWatch::Brief brief_{unavailable(""), std::nullopt, std::nullopt, false, false};
  TimePoint deadline_;
  std::vector<bool> told_;  // Of each fault, that it has fired.
  bool refused_ = false;
  bool interrupted_ = false;
};

}  // namespace

Result<JobRun::Ending> JobRun::run(const Options& options, ProcessHost& processes,
                                   FileSystem& files, const Clock& clock, SignalWaiter& signals) {
  Ending ending;
  ending.submitted = clock.now();
  ASSIGN_OR_RETURN(const auto tools,
                   FaultTools::prepare(options.plan, options.cluster.task_managers,
                                       options.cluster.directory + "-faults", files));
  ChaosCluster::Options of_cluster = options.cluster;
  of_cluster.install = [&](ClusterSupervisor::Options& supervisor) { tools->install(supervisor); };
  ASSIGN_OR_RETURN(const auto cluster,
                   ChaosCluster::start(of_cluster, processes, files, clock, signals));
  {
    Course course(options, *tools, *cluster, files, clock, signals);
    RETURN_IF_ERROR(course.go(ending));
  }
  ending.lives = cluster->lives();
  auto log =
      files.read_all(cluster->directory().log_of(std::string(kJobManagerName)), kLogBytesMax);
  if (log.ok()) ending.job_manager_log = *std::move(log);
  cluster->keep_files();
  return ending;
}

}  // namespace freshet::chaos
