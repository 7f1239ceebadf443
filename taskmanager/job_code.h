#pragma once

#include <memory>
#include <string>

#include "runtime/base/executor.h"
#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_function.h"
#include "runtime/graph/job_module.h"

namespace freshet {

/// Calls code of a job outside of its tasks, on the I/O executor: a crash names it, what it throws
/// becomes a status, and somebody is told that it runs. Copies speak of the same job. Thread-safe.
class JobCode {
 public:
  static constexpr const char* kDestructors = "destructors";

  /// Told on the main thread.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void on_code_begins(const std::string& name) = 0;
    virtual void on_code_ends() = 0;
  };

  JobCode(const JobId& job, Executor& main, std::weak_ptr<Watcher> watcher)
      : job_(job), main_(main), watcher_(std::move(watcher)) {}

  /// `name`: as users know it. What the function holds is gone when this returns.
  Status call(const std::string& name, UniqueFunction<Status()> code) const;

  /// The same job, whose functions of users are destroyed on `io`, whoever drops it last.
  std::shared_ptr<const BuiltJob> ending_on(Executor& io,
                                            std::shared_ptr<const BuiltJob> built) const;

 private:
  const JobId job_;
  Executor& main_;
  const std::weak_ptr<Watcher> watcher_;
};

}  // namespace freshet
