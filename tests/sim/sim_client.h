#pragma once

#include <memory>
#include <optional>
#include <string>

#include "network/message_channel.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "taskmanager/hello.h"
#include "tests/sim/sim_world.h"

namespace freshet::proto {
class Envelope;
class ListJobsReply;
}  // namespace freshet::proto

namespace freshet::sim {

/// Of every process in a simulation.
inline constexpr char kClusterSecret[] = "rain";

/// What a client submits: a module's bytes, and the graph that it built from it.
struct SimSubmission {
  std::string name;
  std::string module_bytes;
  BuildOptions build;
  uint64_t fingerprint = 0;
  JobGraph graph;
};

/// Submits one job, and stays connected. On every new connection it asks whether the JobManager
/// knows the job, and submits it again only if not: the JobManager then began anew, and forgot it.
/// A process of its own.
class SimClient final : public MessageChannel::Handler {
 public:
  SimClient(SimProcess& process, Address job_manager, SimSubmission submission);

  /// Once.
  void start();

  /// Asks for the end of the job. Lost with the connection.
  void cancel();

  /// Asks that a task fails as if its operator had thrown. Likewise.
  void fail_task(const SubtaskId& task);

  /// The job, once the JobManager has answered.
  const std::optional<JobId>& job() const { return job_; }
  /// How often the JobManager took it.
  uint32_t submissions() const { return submissions_; }
  /// Why it was refused; ok otherwise.
  const Status& refused() const { return refused_; }

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

 private:
  void connect();
  void greet();
  void on_greeting(const proto::Envelope&);
  void ask_for_jobs();
  void take_jobs(const proto::ListJobsReply&);
  void send_module();
  void send_job();

  SimProcess& process_;
  Mailbox mailbox_;
  const Address job_manager_;
  const SimSubmission submission_;
  std::optional<Greeting> greeting_;  // Of the channel.
  std::shared_ptr<MessageChannel> channel_;
  std::optional<JobId> job_;
  uint32_t submissions_ = 0;
  Status refused_;
};

}  // namespace freshet::sim
