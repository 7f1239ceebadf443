#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/mailbox.h"
#include "runtime/operators/operator.h"
#include "taskmanager/deployment_message.h"
#include "taskmanager/job_code.h"
#include "taskmanager/module_store.h"
#include "taskmanager/step_watch.h"

namespace freshet {

/// One job's code in this TaskManager: the module, built once, and what is done with it beside
/// running tasks. User code runs on the I/O executor. Belongs to the mailbox' thread; every `done`
/// runs there, later, or never when the job is dropped before.
///
/// Code that does not return holds up whatever comes after it on the I/O executor: it is named in
/// the log, and when the job has ended only the end of the process ends it.
class HostedJob final : public std::enable_shared_from_this<HostedJob>, public JobCode::Watcher {
 public:
  struct Environment {
    ModuleStore& modules;
    Mailbox& main;
    Executor& io;
    FileSystem& files;
    Faults* faults = nullptr;
    Duration cancellation_timeout = 30s;
    Duration watchdog_timeout = 10s;  // Zero: no call lasts too long.
    std::function<void(const Status&)> on_fatal = {};
  };
  using Done = UniqueFunction<void(const Status&)>;

  HostedJob(JobInformation information, const Environment& environment)
      : information_(std::move(information)), environment_(environment) {}
  ~HostedJob() override { environment_.main.cancel(watch_timer_); }

  const JobInformation& information() const { return information_; }

  /// Null before prepare() succeeded.
  const std::shared_ptr<const BuiltJob>& built() const { return built_; }

  /// Loads and builds the module and compares fingerprints, if that was not done. A failure is not
  /// remembered. When clean_up() takes the code away before `done` has its turn that hears
  /// kAborted.
  void prepare(Done done);

  /// Has the operators of the vertices checked before anything runs. `done` gets what failed; tasks
  /// of other vertices may run.
  using CheckDone = UniqueFunction<void(const std::map<VertexId, Status>& failed)>;
  void check(std::set<VertexId> vertices, CheckDone done);

  /// Publishes what sinks left.
  void commit(std::vector<CommittableBytes> committables, Done done);

  /// The job has ended: operators that ran here remove what attempts left. After order_clean_up()
  /// all of them do, wherever they ran, which may need the module. Never fails: what cannot be
  /// removed stays.
  void clean_up(Done done);
  void ran(VertexId vertex) { ran_.insert(vertex); }
  void order_clean_up() { ordered_ = true; }
  /// Ordered after the last clean_up() has begun, if there was one.
  bool needs_clean_up() const { return ordered_; }
  bool cleaned_up() const { return cleaned_up_; }

  // JobCode::Watcher
  void on_code_begins(const std::string& name) override;
  void on_code_ends() override;

 private:
  struct Call {
    std::string name;
    TimePoint began;
  };

  JobCode code() {
    return {information_.id, environment_.main.executor(),
            std::shared_ptr<JobCode::Watcher>(shared_from_this())};
  }
  void watch_code();
  void look_at_code(TimePoint due);
  void build(std::shared_ptr<JobModule> module);
  void end_prepare(const Status&);
  Status code_is_there() const;
  void remove_leftovers(Done done);
  template <class T>
  void run_on_io(std::string_view name, UniqueFunction<T()> work,
                 UniqueFunction<void(const T&)> done);

  const JobInformation information_;
  const Environment environment_;
  std::shared_ptr<const BuiltJob> built_;
  std::vector<Done> preparing_;
  std::set<VertexId> ran_;
  bool ordered_ = false;
  bool cleaned_up_ = false;   // All of it, as ordered.
  bool ended_ = false;        // Nobody wants it to go on.
  std::optional<Call> call_;  // Going on.
  StepWatch watch_;
  TimerId watch_timer_;
};

}  // namespace freshet
