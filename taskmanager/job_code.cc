#include "taskmanager/job_code.h"

#include <exception>
#include <utility>

#include "runtime/base/running_code.h"

namespace freshet {

namespace {

Status call_named(const JobId& job, const std::string& name, UniqueFunction<Status()> code) {
  RunningCode running;
  running.attempt.job = job;
  running.is_task = false;
  running.name = &name;
  const RunningCodeScope scope(&running);
  try {
    return code();
  } catch (const std::exception& error) {
    return user_error(error.what());
  } catch (...) {
    return user_error("an exception that is no std::exception");
  }
}

}  // namespace

Status JobCode::call(const std::string& name, UniqueFunction<Status()> code) const {
  main_.post("job_code_begins", [watcher = watcher_, name] {
    if (const auto self = watcher.lock()) self->on_code_begins(name);
  });
  const Status status = call_named(job_, name, std::move(code));
  main_.post("job_code_ends", [watcher = watcher_] {
    if (const auto self = watcher.lock()) self->on_code_ends();
  });
  return status;
}

std::shared_ptr<const BuiltJob> JobCode::ending_on(Executor& io,
                                                   std::shared_ptr<const BuiltJob> built) const {
  const BuiltJob* const job = built.get();
  return {job, [id = job_, &io, built = std::move(built)](const BuiltJob*) mutable {
            auto end = [id, built = std::move(built)]() mutable {
              (void)call_named(id, kDestructors, [&built] {
                built.reset();
                return Status();
              });
            };
            if (io.on_thread()) return end();
            io.post("end_job_code", std::move(end));
          }};
}

}  // namespace freshet
