#pragma once

#include <memory>
#include <optional>
#include <string>

#include "network/message_channel.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "tests/sim/sim_world.h"

namespace freshet::sim {

/// What a client submits: a module's bytes, and the graph that it built from it.
struct SimSubmission {
  std::string name;
  std::string module_bytes;
  BuildOptions build;
  uint64_t fingerprint = 0;
  JobGraph graph;
};

/// Submits one job as `freshet run -d` does, and tries again on a new connection until it was
/// answered. A process of its own.
class SimClient final : public MessageChannel::Handler {
 public:
  SimClient(SimProcess& process, Address job_manager, SimSubmission submission);

  /// Begins anew, after the JobManager has forgotten everything.
  void submit();

  /// The job, once the JobManager has answered.
  const std::optional<JobId>& job() const { return job_; }
  /// Why it was refused; ok otherwise.
  const Status& refused() const { return refused_; }

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

 private:
  void connect();
  void send_module();
  void send_job();

  SimProcess& process_;
  Mailbox mailbox_;
  const Address job_manager_;
  const SimSubmission submission_;
  std::shared_ptr<MessageChannel> channel_;
  std::optional<JobId> job_;
  Status refused_;
};

}  // namespace freshet::sim
