#include "taskmanager/hosted_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr Duration kLateTimer = 2s;
constexpr int kLooksPerTimeout = 4;
constexpr Duration kLookIntervalMin = 10ms;

using BuiltResult = Result<std::shared_ptr<const BuiltJob>>;

BuiltResult build_and_compare(JobModule& module, const JobInformation& information,
                              const JobCode& code) {
  std::shared_ptr<const BuiltJob> built;
  const Status status = code.call("builder", [&]() -> Status {
    ASSIGN_OR_RETURN(built, module.build(information.build));
    return Status();
  });
  if (!status.ok()) {
    return invalid_argument(
        fmt::format("job '{}' cannot be built: {}", information.name, status.message()));
  }
  const uint64_t fingerprint = fingerprint_of(built->graph());
  if (fingerprint != information.fingerprint) {
    return invalid_argument(fmt::format(
        "job '{}' was submitted with fingerprint {:016x} and is built here with {:016x}: its "
        "builder must depend on nothing but its arguments",
        information.name, information.fingerprint, fingerprint));
  }
  RETURN_IF_ERROR(check_belongs_to(*information.graph, built->graph()));
  return built;
}

/// Whether the same check may give another answer soon. Everything else fails the job for good.
bool may_pass_later(const Status& failed) {
  return failed.code() == StatusCode::kResourceExhausted ||
         failed.code() == StatusCode::kUnavailable ||
         failed.code() == StatusCode::kDeadlineExceeded;
}

Status check_vertex(const JobVertex& vertex, const JobId& job, const BuiltJob& built,
                    FileSystem& files, const JobCode& code) {
  for (const ChainedOperator& chained : vertex.operators) {
    const auto factory = built.operator_factory(chained.id);
    if (factory == nullptr)
      return invalid_argument("the module has no operator '" + chained.name + "'");
    const Status status = code.call(chained.name, [&] { return factory->check(job, files); });
    if (status.ok()) continue;
    const std::string where = "operator '" + chained.name + "'";
    if (may_pass_later(status)) return status.with_context(where);
    return invalid_argument(where + ": " + status.message());
  }
  return Status();
}

Status commit_all(const std::vector<CommittableBytes>& committables, const BuiltJob& built,
                  FileSystem& files, Faults* faults, const JobCode& code) {
  for (const CommittableBytes& one : committables) {
    const auto factory = built.operator_factory(one.operator_id);
    if (factory == nullptr)
      return invalid_argument("the module has no operator " + to_string(one.operator_id));
    const Status status = code.call("committer", [&]() -> Status {
      const auto committer = factory->make_committer();
      if (committer == nullptr)
        return invalid_argument("operator " + to_string(one.operator_id) + " publishes nothing");
      if (faults != nullptr) faults->at("commit.before_rename");
      RETURN_IF_ERROR(committer->commit(one.payload, files));
      if (faults != nullptr) faults->at("commit.after_rename");
      return Status();
    });
    RETURN_IF_ERROR(status);
  }
  return Status();
}

}  // namespace

template <class T>
void HostedJob::run_on_io(std::string_view name, UniqueFunction<T()> work,
                          UniqueFunction<void(const T&)> done) {
  Executor& main = environment_.main.executor();
  environment_.io.post(name, [&main, name, work = std::move(work), done = std::move(done),
                              weak = weak_from_this()]() mutable {
    T result = work();
    main.post(name, [result = std::move(result), done = std::move(done), weak]() mutable {
      if (const auto self = weak.lock()) done(result);
    });
  });
}

void HostedJob::prepare(Done done) {
  if (built_) {
    environment_.main.post("job_is_built",
                           [weak = weak_from_this(), done = std::move(done)]() mutable {
                             if (const auto self = weak.lock()) done(self->code_is_there());
                           });
    return;
  }
  preparing_.push_back(std::move(done));
  if (preparing_.size() > 1) return;
  environment_.modules.get(information_.module_hash, code(),
                           [weak = weak_from_this()](Result<std::shared_ptr<JobModule>> module) {
                             const auto self = weak.lock();
                             if (self == nullptr) return;
                             if (!module.ok()) return self->end_prepare(module.status());
                             self->build(std::move(module).value());
                           });
}

/// It goes with clean_up(), which may come before who waits for it has its turn.
Status HostedJob::code_is_there() const {
  if (built_ != nullptr) return Status();
  return aborted("job '" + information_.name + "' has ended, and its code is gone");
}

void HostedJob::build(std::shared_ptr<JobModule> module) {
  run_on_io<BuiltResult>(
      "build_job",
      [module = std::move(module), information = information_, code = code(),
       &io = environment_.io]() -> BuiltResult {
        ASSIGN_OR_RETURN(auto built, build_and_compare(*module, information, code));
        return code.ending_on(io, std::move(built));
      },
      [this](const BuiltResult& built) {
        if (built.ok()) built_ = *built;
        end_prepare(built.status());
      });
}

void HostedJob::end_prepare(const Status& status) {
  std::vector<Done> waiting;
  waiting.swap(preparing_);
  for (Done& done : waiting) done(status.ok() ? code_is_there() : status);
}

void HostedJob::check(std::set<VertexId> vertices, CheckDone done) {
  run_on_io<std::map<VertexId, Status>>(
      "check_operators",
      [vertices = std::move(vertices), id = information_.id, graph = information_.graph,
       built = built_, &files = environment_.files, code = code()] {
        std::map<VertexId, Status> failed;
        for (VertexId vertex : vertices) {
          Status status = check_vertex(graph->vertices[vertex.value], id, *built, files, code);
          if (!status.ok()) failed.emplace(vertex, std::move(status));
        }
        return failed;
      },
      std::move(done));
}

void HostedJob::commit(std::vector<CommittableBytes> committables, Done done) {
  run_on_io<Status>(
      "commit",
      [committables = std::move(committables), built = built_, &files = environment_.files,
       faults = environment_.faults,
       code = code()] { return commit_all(committables, *built, files, faults, code); },
      std::move(done));
}

void HostedJob::clean_up(Done done) {
  ended_ = true;
  if (!ordered_) return remove_leftovers(std::move(done));
  ordered_ = false;
  cleaned_up_ = true;
  for (const JobVertex& vertex : information_.graph->vertices) ran_.insert(vertex.id);
  prepare([this, done = std::move(done)](const Status& status) mutable {
    if (!status.ok()) {
      LOG_WARN("clean_up_impossible", {{"job", information_.id}, {"cause", status}});
    }
    remove_leftovers(std::move(done));
  });
}

/// Its code goes with the last call of it: what a destructor does comes before the job is released.
void HostedJob::remove_leftovers(Done done) {
  run_on_io<Status>(
      "clean_up_job",
      [ran = ran_, id = information_.id, graph = information_.graph, built = std::move(built_),
       &files = environment_.files, code = code()]() mutable {
        for (VertexId vertex : ran) {
          for (const ChainedOperator& chained : graph->vertices[vertex.value].operators) {
            const auto factory = built == nullptr ? nullptr : built->operator_factory(chained.id);
            if (factory == nullptr) continue;
            (void)code.call(chained.name, [&] {
              factory->clean_up(id, files);
              return Status();
            });
          }
        }
        return code.call(JobCode::kDestructors, [&] {
          built.reset();
          return Status();
        });
      },
      std::move(done));
}

void HostedJob::on_code_begins(const std::string& name) {
  call_ = Call{name, environment_.main.now()};
  watch_code();
}

void HostedJob::on_code_ends() {
  call_.reset();
  environment_.main.cancel(watch_timer_);
}

void HostedJob::watch_code() {
  environment_.main.cancel(watch_timer_);
  Duration interval = environment_.cancellation_timeout;
  if (environment_.watchdog_timeout != Duration{})
    interval = std::min(interval, environment_.watchdog_timeout);
  interval = std::max<Duration>(interval / kLooksPerTimeout, kLookIntervalMin);
  watch_timer_ = environment_.main.schedule(
      interval, "watch_job_code",
      [weak = weak_from_this(), due = environment_.main.now() + interval] {
        if (const auto self = weak.lock()) self->look_at_code(due);
      });
}

void HostedJob::look_at_code(TimePoint due) {
  if (!call_) return;
  watch_code();
  const TimePoint now = environment_.main.now();
  if (now - due > kLateTimer) {  // The process was paused, and its code with it.
    call_->began = now;
    return;
  }
  if (environment_.watchdog_timeout != Duration{}) {
    if (const auto lasts = watch_.look(call_->began, now, environment_.watchdog_timeout)) {
      LOG_WARN(
          "job_code_lasts_long",
          {{"job", information_.id},
           {"code", call_->name},
           {"duration", format_duration(std::chrono::floor<std::chrono::milliseconds>(*lasts))}});
    }
  }
  if (!ended_ || now - call_->began < environment_.cancellation_timeout) return;
  const Status status = deadline_exceeded(fmt::format(
      "job '{}' has ended, and its code did not return within {} "
      "(task.cancellation.timeout): '{}'",
      information_.name, format_duration(environment_.cancellation_timeout), call_->name));
  environment_.main.cancel(watch_timer_);
  LOG_ERROR("job_code_timeout", {{"job", information_.id}, {"status", status}});
  if (environment_.on_fatal) environment_.on_fatal(status);
}

}  // namespace freshet
