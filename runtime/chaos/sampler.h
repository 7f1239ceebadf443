#pragma once

#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/app/control_client.h"
#include "runtime/base/clock.h"
#include "runtime/base/ids.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_executor.h"
#include "runtime/chaos/samples.h"
#include "runtime/graph/job_graph.h"

namespace freshet::chaos {

/// The tasks of a job, in the order in which a JobManager tells of them; no samples yet.
Samples samples_for(const JobGraph&);

/// What a JobManager says of a job now; `before`: the sample before, or null.
Sample sample_of(const Samples&, const JobDetails&, const Sample* before, EpochMillis now);

/// Asks a JobManager again and again how far a job is, on a thread of its own, over a connection of
/// its own. One that does not answer is asked again: there are no samples meanwhile.
///
/// What a TaskManager tells is as old as its last heartbeat: `heartbeat.interval` of the cluster
/// bounds how fine samples are. Thread-safe.
class Sampler {
 public:
  struct Options {
    Address job_manager;
    std::string secret;
    Duration interval = 50ms;
  };

  /// The job of `graph`, which is submitted already. Begins at once.
  Sampler(Options, const JobId&, const JobGraph& graph, Transport&, const Clock&);
  /// Stops.
  ~Sampler() { stop(); }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// From now on somebody else answers there.
  void set_job_manager(const Address&);
  /// Waits for the answer that is under way, if any, at most a second.
  void stop() { thread_.stop(); }

  /// All until now.
  Samples samples() const;
  /// Records that sources have made, by the last sample.
  uint64_t source_records() const;

 private:
  void ask();
  Result<JobDetails> details();

  const Options options_;
  const JobId job_;
  Transport& transport_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Address job_manager_ GUARDED_BY(mutex_);
  bool moved_ GUARDED_BY(mutex_) = false;
  Samples samples_ GUARDED_BY(mutex_);
  std::unique_ptr<ControlClient> client_;  // Of the thread.
  ThreadExecutor thread_;
};

}  // namespace freshet::chaos
