#include "network/local_transport.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/version.h"
#include "runtime/task/executor_task_runner.h"
#include "taskmanager/task_executor.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/wire.h"
#include "tests/unit/taskmanager/deployments.h"

namespace freshet::fuzz {

namespace {

using taskmanager_test::kJob;
using taskmanager_test::kModule;

constexpr size_t kLinesMax = 200;
constexpr TaskManagerId kSelf{77};

/// A TaskManager with the real data plane, whose JobManager is the input.
class Worker {
 public:
  Worker() {
    script_->committables = {"bytes"};
    ShuffleEnvironment::Options options;
    options.task_manager = kSelf;
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 1 << 20;
    options.timers = &main_;
    shuffle_ = std::move(ShuffleEnvironment::create(options, data_)).value();
    TaskExecutor::Options own;
    own.id = kSelf;
    own.slots = 2;
    own.job_manager = Address{"127.0.0.1", 1};
    own.state_directory = "/state";
    executor_ = std::make_unique<TaskExecutor>(
        own,
        TaskExecutor::Environment{control_, main_, tasks_, main_, loader_, files_, clock_, *random_,
                                  *shuffle_, nullptr, nullptr, [](const Status&) {}});
    main_.post("start", [this] { executor_->start(); });
    settle();
  }

  ~Worker() {
    bool stopped = false;
    main_.post("stop", [&] { executor_->stop([&] { stopped = true; }); });
    pass(2s);
    CHECK(stopped);
    main_.post("destroy", [&] { executor_.reset(); });
    settle();
    shuffle_->shut_down();
    settle();
    CHECK(shuffle_->free_bytes() == shuffle_->total_bytes());
  }

  void pass(Duration duration) {
    main_.advance(duration);
    settle();
  }

  /// To the connection that was made first and is still open, or the one behind it.
  void send(bool second, const std::string& payload) {
    std::erase_if(wires_, [](const auto& wire) { return !wire->is_open(); });
    if (wires_.size() <= (second ? 1u : 0u)) return;
    const auto wire = wires_[second ? 1 : 0];
    wire->deliver(on_the_wire(payload));
    settle();
  }

  void drop() {
    if (!wires_.empty()) wires_.front()->end();
    settle();
  }

 private:
  /// All that it says is sound.
  void settle() {
    do {
      main_.run_ready();
      while (const auto wire = control_.answer()) wires_.push_back(wire);
      for (const auto& wire : wires_) wire->settle();
    } while (main_.ready_count() > 0);
    for (const auto& wire : wires_) (void)off_the_wire(wire->take_sent());
  }

  ManualClock clock_;
  ManualExecutor main_{clock_};
  WireTransport control_;
  LocalTransport data_{main_};
  MemoryFileSystem files_;
  ExecutorTaskRunner tasks_{main_};
  std::unique_ptr<Random> random_ = make_seeded_random(5);
  std::shared_ptr<taskmanager_test::JobScript> script_ =
      std::make_shared<taskmanager_test::JobScript>();
  taskmanager_test::ScriptLoader loader_{script_};
  std::unique_ptr<ShuffleEnvironment> shuffle_;
  std::vector<std::shared_ptr<Wire>> wires_;
  std::unique_ptr<TaskExecutor> executor_;
};

}  // namespace

/// input := ("1 " message as text | "2 " message | "drop" | "+"*)*, one a line: what the JobManager
/// says on the control connection and on that of a module, and how many seconds pass.
void task_manager(std::string_view bytes) {
  Input input(bytes);
  Worker worker;
  for (size_t lines = 0; !input.empty() && lines < kLinesMax; ++lines) {
    const std::string_view line = input.line();
    if (line.starts_with('+')) {
      worker.pass(std::chrono::seconds(std::min<size_t>(line.size(), 20)));
    } else if (line == "drop") {
      worker.drop();
    } else if (line.size() > 2) {
      const auto message = from_line(line.substr(2));
      if (message) worker.send(line[0] == '2', message->SerializeAsString());
    }
  }
}

namespace {

std::string greeting_reply(const std::string& more) {
  return " hello_reply { protocol_version: " + std::to_string(kProtocolVersion) + more + " }\n";
}

std::string blob(const std::string& bytes = kModule) {
  proto::Envelope chunk;
  chunk.mutable_blob_chunk()->set_size(bytes.size());
  chunk.mutable_blob_chunk()->set_data(bytes);
  chunk.mutable_blob_chunk()->set_last(true);
  return "2" + greeting_reply(" status { }") + "2 " + as_line(chunk);
}

/// A deployment of a known job, which names its group only; and that.
std::pair<std::string, std::string> named_deployment(const Address& data) {
  proto::Envelope envelope = taskmanager_test::deployment(kSelf, data, 1, false);
  proto::DeployTasks* deploy = envelope.mutable_deploy_tasks();
  const std::string group = deploy->groups(0).SerializeAsString();
  deploy->clear_job();
  to_proto(kJob, deploy->mutable_known_job());
  deploy->mutable_groups(0)->Clear();
  deploy->mutable_groups(0)->set_hash(content_hash(group));
  return {"1 " + as_line(envelope), group};
}

}  // namespace

Seeds task_manager_seeds() {
  const std::string welcome =
      "1" + greeting_reply(" status { } job_manager_epoch: 5") +
      "1 register_reply { status { } heartbeat_interval_ms: 1000 heartbeat_timeout_ms: 9000 }\n";
  // Where the data port of the first environment of a transport is.
  const Address data{"127.0.0.1", 40'000};
  const std::string deploy = "1 " + as_line(taskmanager_test::deployment(kSelf, data, 0, true));
  const std::string again = "1 " + as_line(taskmanager_test::deployment(kSelf, data, 1, false));
  const auto [named, group] = named_deployment(data);
  proto::Envelope commit, release, cancel, finish, clean_up;
  taskmanager_test::fill_job(commit.mutable_commit()->mutable_job());
  commit.mutable_commit()->set_commit_id(3);
  auto* committable = commit.mutable_commit()->add_committables();
  committable->set_operator_id(taskmanager_test::job_graph().vertices[1].operators[0].id.value);
  committable->set_payload("bytes");
  to_proto(kJob, release.mutable_release_job()->mutable_job());
  to_proto(kJob, clean_up.mutable_release_job()->mutable_job());
  taskmanager_test::fill_job(clean_up.mutable_release_job()->mutable_clean_up());
  for (const uint32_t vertex : {0, 1}) {
    to_proto(taskmanager_test::attempt_of(vertex), cancel.mutable_cancel_tasks()->add_attempts());
    to_proto(taskmanager_test::attempt_of(vertex), finish.mutable_finish_tasks()->add_attempts());
  }
  const auto line = [](const proto::Envelope& envelope) { return "1 " + as_line(envelope); };
  return {welcome + deploy + blob() + "+\n" + line(finish) + line(commit) + "+\n" + line(release),
          welcome + deploy + blob() + line(cancel) + "+\n" + again + "+\n" + line(finish),
          welcome + deploy + "2 error_reply { status { code: 3 message: 'no' } }\n+\n",
          welcome + deploy + blob() + "+\ndrop\n++\n" + welcome + deploy + "+\n",
          welcome + line(clean_up) + blob() + "+\n",
          welcome + deploy + blob() + line(cancel) + "+\n" + named + blob(group) + "+\n" + named,
          welcome + deploy + blob() + line(cancel) + "+\n" + named + blob("no group") + "+\n",
          "1" + greeting_reply(" status { code: 3 message: 'no' }") + "++\n" + welcome +
              "1 heartbeat_reply { sequence: 1 }\n+++++++++++++\n"};
}

}  // namespace freshet::fuzz
