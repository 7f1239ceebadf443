#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/random.h"
#include "runtime/graph/task_state.h"
#include "taskmanager/gate_group_cache.h"
#include "taskmanager/hello.h"

namespace freshet::bench {

/// What the JobManager sees of a TaskManager: greets, registers, sends heartbeats, reads
/// deployments as a TaskManager does and acknowledges each task. No task runs. Belongs to the
/// thread of its executor.
class DeploymentEndpoint final : public MessageChannel::Handler {
 public:
  struct Options {
    TaskManagerId id;
    uint32_t slots = 1;
    Address job_manager;
    Duration heartbeat_interval = 200ms;
    bool producers_end = false;  // Those of the first vertex, as soon as they run.
  };
  struct Counts {
    uint64_t bytes = 0;  // Of messages and blobs that came.
    uint64_t blobs = 0;
    uint64_t deployed = 0;
    std::vector<double> heartbeat_ms;  // From one to its answer.
    std::string failure;
  };

  /// All outlive it, or close().
  DeploymentEndpoint(Options, Transport&, Executor&, Random&, std::function<void()> registered);
  void start();
  void close();
  Counts counts() const;

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

 private:
  Status handle(const proto::Envelope&);
  Status on_greeting(const proto::Envelope&);
  void register_here();
  void beat();
  Status on_deploy(const proto::DeployTasks&);
  void acknowledge(const Deployment&);
  void report(const AttemptId&, TaskState);
  void send(const proto::Envelope&);

  const Options options_;
  Transport& transport_;
  Mailbox mailbox_;
  const std::function<void()> registered_;
  Greeting greeting_;
  GateGroupCache groups_;
  std::shared_ptr<MessageChannel> channel_;
  std::optional<JobInformation> job_;
  TimerId timer_;
  uint64_t sequence_ = 0;
  TimePoint beat_at_{};
  std::set<AttemptId> hosted_;
  Counts counts_;
};

}  // namespace freshet::bench
