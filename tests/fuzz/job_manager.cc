#include "jobmanager/job_manager.h"

#include <algorithm>
#include <map>

#include "jobmanager/job_master_invariants.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/version.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/wire.h"
#include "tests/unit/jobmanager/test_jobs.h"

namespace freshet::fuzz {

namespace {

constexpr size_t kLinesMax = 200;
constexpr uint64_t kTasksMax = 2000;  // More are allowed, and only slow.
const std::string kModule = "not really a shared object";

/// A JobManager and the connections of its peers, which are the lines of the input.
class Cluster {
 public:
  Cluster() {
    JobManager::Options options;
    options.bind = Address{"127.0.0.1", 0};
    options.state_dir = "/state";
    job_manager_ = std::make_unique<JobManager>(options, transport_, executor_, executor_, clock_,
                                                *random_, files_, *faults_);
    job_manager_->observe([this](const JobMaster& job) {
      const auto broken = invariants_[job.id()].check(job);
      if (broken) fprintf(stderr, "%s\n", broken->c_str());
      CHECK(!broken);
    });
    CHECK(job_manager_->start().ok());
    executor_.run_ready();
  }

  ~Cluster() {
    bool stopped = false;
    job_manager_->stop([&] { stopped = true; });
    settle();
    CHECK(stopped && files_.files().empty());
    job_manager_.reset();
  }

  void pass(Duration duration) {
    executor_.advance(duration);
    settle();
  }

  void send(char peer, const std::string& payload) {
    auto& wire = peers_[peer];
    if (wire == nullptr) {
      wire = transport_.accept();
      executor_.run_ready();
    }
    wire->deliver(on_the_wire(payload));
    settle();
  }

  void close(char peer) {
    if (const auto wire = peers_.extract(peer)) wire.mapped()->end();
    settle();
  }

  const std::vector<proto::Envelope>& said() const { return said_; }

 private:
  /// All that it says is sound.
  void settle() {
    do {
      executor_.run_ready();
      for (auto& [peer, wire] : peers_) wire->settle();
    } while (executor_.ready_count() > 0);
    for (auto& [peer, wire] : peers_) {
      for (proto::Envelope& envelope : off_the_wire(wire->take_sent()))
        said_.push_back(std::move(envelope));
    }
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  WireTransport transport_;
  MemoryFileSystem files_;
  std::unique_ptr<Random> random_ = make_seeded_random(1);
  std::unique_ptr<Faults> faults_ = make_no_faults();
  std::map<JobId, JobMasterInvariants> invariants_;
  std::map<char, std::shared_ptr<Wire>> peers_;
  std::vector<proto::Envelope> said_;
  std::unique_ptr<JobManager> job_manager_;
};

bool is_small(const proto::Envelope& envelope) {
  uint64_t tasks = 0;
  for (const auto& vertex : envelope.submit_job().graph().vertices()) tasks += vertex.parallelism();
  return tasks <= kTasksMax && envelope.register_task_manager().slots() <= kTasksMax;
}

}  // namespace

namespace {

void run(std::string_view bytes, Cluster& cluster) {
  Input input(bytes);
  for (size_t lines = 0; !input.empty() && lines < kLinesMax; ++lines) {
    const std::string_view line = input.line();
    if (line.starts_with('+')) {
      cluster.pass(std::chrono::seconds(std::min<size_t>(line.size(), 20)));
    } else if (line.size() > 2 && line.substr(2) == "close") {
      cluster.close(line[0]);
    } else if (line.size() > 2) {
      const auto message = from_line(line.substr(2));
      if (message && is_small(*message)) cluster.send(line[0], message->SerializeAsString());
    }
  }
}

}  // namespace

/// input := (peer " " message as text | peer " close" | "+"*)*, one a line; a peer is one
/// character, and connects when it is first named; each "+" is a second that passes.
void job_manager(std::string_view bytes) {
  Cluster cluster;
  run(bytes, cluster);
  cluster.pass(30s);
}

namespace {

std::string hello(char peer, const char* role) {
  return std::string(1, peer) + " hello { role: " + role +
         " protocol_version: " + std::to_string(kProtocolVersion) +
         " library_version: \"" FRESHET_VERSION "\" }\n";
}

std::string registration(char peer, const char* id) {
  return std::string(1, peer) + " register_task_manager { task_manager: " + id +
         " name: \"tm\" host_id: \"h\" data_host: \"127.0.0.1\" data_port: 4000 slots: 2 number: 1 "
         "}\n";
}

std::string state_of(char peer, const std::string& job, int vertex, int subtask, int state) {
  return std::string(1, peer) + " task_state_changed { attempt { job { " + job +
         " } vertex: " + std::to_string(vertex) + " subtask: " + std::to_string(subtask) +
         " } state: " + std::to_string(state) + " }\n";
}

/// What it made of the first edge, with its hash.
std::string stored(char peer, const std::string& job, int subtask, int attempt, int hash) {
  return std::string(1, peer) + " task_state_changed { attempt { job { " + job +
         " } subtask: " + std::to_string(subtask) + " attempt: " + std::to_string(attempt) +
         " } state: 5 stored { hash: " + std::to_string(hash) + " } }\n";
}

/// What the JobManager of an input calls the first job, whose tasks it has deployed.
std::string first_job_id(const std::string& start) {
  Cluster cluster;
  run(start, cluster);
  CHECK(std::any_of(cluster.said().begin(), cluster.said().end(),
                    [](const proto::Envelope& envelope) { return envelope.has_deploy_tasks(); }));
  for (const proto::Envelope& envelope : cluster.said()) {
    if (envelope.has_submit_job_reply())
      return envelope.submit_job_reply().job().ShortDebugString();
  }
  check_failed(__FILE__, __LINE__, "no job was submitted");
}

/// A client, a TaskManager and a job.
std::string start_of(const JobGraph& graph) {
  proto::Envelope put;
  put.mutable_put_blob()->set_hash(content_hash(kModule));
  put.mutable_put_blob()->set_size(kModule.size());
  put.mutable_put_blob()->set_data(kModule);
  put.mutable_put_blob()->set_last(true);
  proto::Envelope submit;
  submit.set_request_id(77);
  submit.mutable_submit_job()->set_name("job");
  submit.mutable_submit_job()->set_module_hash(content_hash(kModule));
  BuildOptions build;
  build.parallelism = 2;
  to_proto(build, submit.mutable_submit_job()->mutable_build());
  to_proto(graph, submit.mutable_submit_job()->mutable_graph());
  return hello('c', "CLIENT") + "c " + as_line(put) + hello('t', "TASK_MANAGER") +
         registration('t', "7") + "c " + as_line(submit);
}

/// Of a batch job of two stages: what was made is lost before, while and after it is read.
Seeds batch_seeds() {
  JobGraph graph = two_vertices();
  graph.mode = RuntimeMode::kBatch;
  graph.edges[0].exchange = Exchange::kBlocking;
  const std::string start = start_of(graph);
  const std::string job = first_job_id(start);
  const std::string made = start + stored('t', job, 0, 0, 7) + stored('t', job, 1, 0, 8) +
                           state_of('t', job, 0, 0, 6) + state_of('t', job, 0, 1, 6);
  const std::string reads = made + state_of('t', job, 1, 0, 4) + state_of('t', job, 1, 1, 4);
  const std::string not_found = "t channels_lost { consumer { job { " + job +
                                " } vertex: 1 } producer_end: 1 producer_task_manager: 7 "
                                "cause { code: 2 message: 'm' } }\n";
  const std::string other_place = hello('u', "TASK_MANAGER") + registration('u', "8");
  return {
      reads + state_of('t', job, 1, 0, 5) + state_of('t', job, 1, 1, 5) + "t commit_done { job { " +
          job + " } commit_id: 1 }\n",
      made + other_place + "t close\n+++\n" + stored('u', job, 0, 1, 7) + stored('u', job, 1, 1, 9),
      reads + not_found + "+++\n" + stored('t', job, 0, 1, 70) + state_of('t', job, 0, 0, 6),
      reads + state_of('t', job, 1, 0, 5) + state_of('t', job, 1, 0, 6) + not_found + "+++\n" +
          other_place + "t close\n+++\n" + stored('u', job, 0, 1, 70)};
}

}  // namespace

Seeds job_manager_seeds() {
  const std::string start = start_of(two_vertices());
  const std::string job = first_job_id(start);
  std::string runs = start, ends = start, fails = start;
  for (const int vertex : {0, 1}) {
    for (const int subtask : {0, 1}) {
      runs += state_of('t', job, vertex, subtask, 4);
      ends += state_of('t', job, vertex, subtask, 4);
      ends += state_of('t', job, vertex, subtask, 5);
    }
  }
  fails += state_of('t', job, 0, 0, 9);
  const std::string questions = "c list_jobs { }\nc get_cluster { }\nc get_job { job { " + job +
                                " } }\nc get_blob { hash: \"" + content_hash(kModule) + "\" }\n";
  Seeds seeds = batch_seeds();
  const Seeds streaming = {
      start + questions,
      runs + "+++\n" + "t heartbeat { sequence: 1 }\n" + questions + "c cancel_job { job { " + job +
          " } }\n",
      ends + "t commit_done { job { " + job + " } commit_id: 1 }\n" + questions,
      fails + "+++++\n" + questions,
      runs + "t channels_lost { consumer { job { " + job +
          " } vertex: 1 } producer_end: 2 cause { code: 9 message: 'm' } }\n",
      runs + "t unregister_task_manager { }\n" + "+++\n" + "t close\n" + questions,
      hello('b', "BLOB_CLIENT") + "b get_blob { hash: \"0123\" }\nb close\n"};
  seeds.insert(seeds.end(), streaming.begin(), streaming.end());
  return seeds;
}

}  // namespace freshet::fuzz
