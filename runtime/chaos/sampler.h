#pragma once

#include <memory>
#include <string>

#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/ids.h"
#include "runtime/chaos/samples.h"
#include "runtime/graph/job_graph.h"

namespace freshet::chaos {

/// Asks a JobManager again and again how far a job is, on a thread of its own, over a connection of
/// its own. One that does not answer is asked again: there are no samples meanwhile.
///
/// What a TaskManager tells is as old as its last heartbeat: `heartbeat.interval` of the cluster
/// bounds how fine samples are. stop() and samples() may be called on any thread.
class Sampler {
 public:
  struct Options {
    Address job_manager;
    std::string secret;
    Duration interval = 50ms;
  };

  /// The job of `graph`, which is submitted already.
  Sampler(const Options&, const JobId&, const JobGraph& graph, Transport&, const Clock&);
  /// Stops.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// From now on somebody else answers there.
  void set_job_manager(const Address&);
  void stop();

  /// All until now.
  Samples samples() const;
  /// Records that sources made, in the last sample.
  uint64_t source_records() const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace freshet::chaos
