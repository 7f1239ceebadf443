#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "jobmanager/job_master_invariants.h"
#include "runtime/base/log.h"
#include "tests/models/restart_model.h"
#include "tests/unit/graph/region_sketch.h"
#include "tests/unit/jobmanager/test_jobs.h"

namespace freshet {
namespace {

/// One JobMaster with a ResourceManager and TaskManagers that report what they like when they like:
/// messages take their time, come twice, and are lost with their TaskManager. The order within a
/// connection holds.
class RandomCluster {
 public:
  explicit RandomCluster(uint64_t seed) : random_(make_seeded_random(seed)) {
    Configuration configuration;
    EXPECT_TRUE(configuration.set("restart-strategy.type", "fixed-delay").ok());
    EXPECT_TRUE(configuration.set("restart-strategy.fixed-delay.attempts", "1000000").ok());
    EXPECT_TRUE(configuration.set("restart-strategy.fixed-delay.delay", "50 ms").ok());
    JobGraph graph = seed % 2 == 0   ? two_random_vertices()
                     : seed % 8 == 1 ? stages()
                                     : regions_of(seed);
    model_.emplace(JobId{0, 1}.to_string(), graph);
    log_to_sink(
        [](void* cluster, LogLevel, std::string_view line) {
          static_cast<RandomCluster*>(cluster)->model_->read(" " + std::string(line));
        },
        this);
    JobMaster::Options options{JobId{0, 1}, test_submission(std::move(graph)), 1h};
    full_ = seed % 16 == 7;
    if (full_) options.failover = FailoverStrategy::kFull;
    job_ = std::make_unique<JobMaster>(
        std::move(options), std::move(make_restart_backoff(configuration, *random_)).value());
    for (int i = 0; i < 2; i++) add_task_manager();
    carry_out(job_->start(now_));
  }

  ~RandomCluster() { log_to_sink(nullptr, nullptr); }

  JobGraph two_random_vertices() {
    const auto parallelism = [this] { return static_cast<uint32_t>(1 + random_->below(4)); };
    const auto partitioning = random_->one_in(2) ? Partitioning::kHash : Partitioning::kRescale;
    JobGraph graph = two_vertices(parallelism(), parallelism(), partitioning);
    if (random_->one_in(3)) graph.vertices[1].slot_sharing_group = "other";
    return graph;
  }

  /// Of a batch job, each of which reads all of the one before.
  JobGraph stages() {
    in_stages_ = true;
    JobGraph graph = RegionSketch({6, 6, 6})
                         .blocking(0, 1, Partitioning::kHash)
                         .blocking(1, 2, Partitioning::kHash)
                         .graph;
    graph.mode = RuntimeMode::kBatch;
    return graph;
  }

  /// Blocking and pipelined edges of all kinds; in half of the cases a batch job.
  JobGraph regions_of(uint64_t seed) {
    JobGraph graph = random_region_graph(seed);
    if (random_->one_in(2)) graph.mode = RuntimeMode::kBatch;
    for (JobVertex& vertex : graph.vertices) {
      if (random_->one_in(6)) vertex.slot_sharing_group = "other";
    }
    return graph;
  }

  /// False when a rule was broken; the failure is recorded.
  bool run() {
    const int steps =
        in_stages_ || random_->one_in(3) ? 1000 : 300;  // Late faults meet what has ended.
    for (int i = 0; i < steps && !ended() && healthy(); i++) step(/*faults=*/true);
    if (random_->one_in(8) && !ended()) cancel();
    while (task_managers_.size() < 8) add_task_manager();
    for (int i = 0; i < 20'000 && !ended() && healthy(); i++) step(/*faults=*/false);
    if (!healthy()) return false;
    if (!ended()) return fail("the job did not end after the faults had ended");
    if (!full_ && !check_restarts()) return false;
    if (job_->state() == JobState::kFinished) return check_published() && check_read();
    return job_->state() == JobState::kCanceled ? true
                                                : fail("FAILED: " + job_->cause().to_string());
  }

  const std::string& broken() const { return broken_; }
  uint32_t restarts() const { return job_->restarts(); }
  /// Inputs that were made again after they had been read.
  uint32_t spared() const { return spared_; }
  /// Those that went on while something that they had read was made again.
  uint32_t readers_spared() const { return model_->readers_spared(); }
  JobState state() const { return job_->state(); }

 private:
  static constexpr uint32_t kBadCommitsMax = 4;  // More in a row fail the job.

  struct TaskManager {
    std::deque<JobCommand> to_it;
    std::deque<std::function<JobCommands()>> from_it;
    std::map<AttemptId, TaskState> tasks;
    std::set<AttemptId> outputs;  // Of those that have ended.
    std::set<std::pair<DatasetId, AttemptId>> released;
    std::set<std::shared_ptr<const job_commands::GateGroup>> told;
  };

  bool ended() const { return is_terminal(job_->state()); }
  bool healthy() const { return broken_.empty(); }
  bool fail(const std::string& why) {
    if (broken_.empty()) broken_ = why;
    return false;
  }

  void add_task_manager() {
    const TaskManagerId id{next_task_manager_++};
    task_managers_[id];
    TaskManagerInfo info;
    info.id = id;
    info.slots = 4;
    resources_.add(info);
    carry_out(job_->on_task_manager_registered(now_, info));
  }

  void lose_one() {
    if (task_managers_.empty()) return;
    auto it =
        std::next(task_managers_.begin(), static_cast<long>(random_->below(task_managers_.size())));
    const TaskManagerId id = it->first;
    task_managers_.erase(it);
    resources_.remove(id);
    model_->read(" task_manager_lost task_manager=" + freshet::to_string(id));
    carry_out(job_->on_task_manager_lost(now_, id, unavailable("killed")));
  }

  void cancel() {
    auto commands = job_->cancel(now_);
    if (commands.ok()) carry_out(std::move(commands).value());
  }

  void step(bool faults) {
    now_ += Duration(random_->below(20'000'000));
    const auto due = job_->deadline();
    if (due && *due <= now_) carry_out(job_->on_time(now_));
    if (const auto next = job_->deadline(); next && *next <= now_) {
      fail("the job waits for a time that has passed");
      return;
    }
    if (faults && random_->one_in(in_stages_ ? 80 : 60)) {
      lose_one();
      if (random_->one_in(3)) lose_one();  // As when the JobManager was paused for long.
      return;
    }
    if (faults && random_->one_in(30) && task_managers_.size() < 5) return add_task_manager();
    if (task_managers_.empty()) return add_task_manager();
    auto it =
        std::next(task_managers_.begin(), static_cast<long>(random_->below(task_managers_.size())));
    switch (random_->below(3)) {
      case 0:
        return receive(it->first, it->second);
      case 1:
        return progress(it->first, it->second, faults);
      default:
        return deliver(it->second, faults);
    }
  }

  /// One report reaches the JobMaster, perhaps twice.
  void deliver(TaskManager& task_manager, bool faults) {
    if (task_manager.from_it.empty()) return;
    auto report = std::move(task_manager.from_it.front());
    task_manager.from_it.pop_front();
    const bool twice = faults && random_->one_in(5);
    carry_out(report());
    if (twice) carry_out(report());
  }

  void receive(TaskManagerId id, TaskManager& task_manager) {
    if (task_manager.to_it.empty()) return;
    const JobCommand command = std::move(task_manager.to_it.front());
    task_manager.to_it.pop_front();
    if (const auto* deploy = std::get_if<job_commands::DeployTasks>(&command)) {
      for (const auto& [group, known] : deploy->groups) {
        const bool first = task_manager.told.insert(group).second;
        if (group->kept && known == first) fail("a group is told twice, or never");
        if (!group->kept && known) fail("a group that is not kept is not told");
      }
      for (const auto& task : deploy->tasks) {
        check_inputs(*deploy, task);
        start_task(id, task_manager, task.attempt);
      }
    } else if (const auto* cancel = std::get_if<job_commands::CancelTasks>(&command)) {
      for (const AttemptId& attempt : cancel->attempts) {
        if (task_manager.tasks.erase(attempt) == 0) continue;
        report(id, task_manager, attempt, TaskState::kCanceled);
      }
    } else if (const auto* finish = std::get_if<job_commands::FinishTasks>(&command)) {
      for (const AttemptId& attempt : finish->attempts) {
        if (task_manager.tasks.erase(attempt) == 0) continue;
        task_manager.outputs.insert(attempt);
        report(id, task_manager, attempt, TaskState::kFinished);
      }
    } else if (const auto* release = std::get_if<job_commands::ReleasePartitions>(&command)) {
      drop_outputs(task_manager, *release);
    } else if (const auto* commit = std::get_if<job_commands::Commit>(&command)) {
      const bool good = bad_commits_ == kBadCommitsMax || !random_->one_in(8);
      bad_commits_ += !good;
      if (good) {
        for (const auto& committable : commit->committables) published_.insert(committable.payload);
      }
      task_manager.from_it.push_back([this, id, commit_id = commit->commit_id, good] {
        return job_->on_commit_done(now_, id, commit_id, good ? Status() : unavailable("disk"));
      });
    }
  }

  void drop_outputs(TaskManager& task_manager, const job_commands::ReleasePartitions& release) {
    for (const auto& range : release.partitions) {
      const VertexId producer = job_->graph().job_graph().edges[range.dataset.value].producer;
      for (uint32_t p = range.producers.begin; p < range.producers.end; p++)
        task_manager.released.insert({range.dataset, {job_->id(), {producer, p}, range.attempt}});
    }
  }

  /// Whoever is started finds what it reads, unless that was lost and it will be cancelled.
  void check_inputs(const job_commands::DeployTasks& deploy,
                    const job_commands::TaskDeployment& task) {
    const ExecutionGraph& graph = job_->graph();
    const Execution& consumer = graph.at(task.attempt.subtask);
    if (consumer.attempt != task.attempt.attempt || consumer.state == TaskState::kCanceling) return;
    for (const uint32_t g : task.groups) {
      const job_commands::GateGroup& group = *deploy.groups[g].group;
      const JobEdge& edge = graph.job_graph().edges[group.dataset.value];
      if (edge.exchange == Exchange::kPipelined) continue;
      for (const auto& range : group.producers) {
        for (uint32_t p = range.producers.begin; p < range.producers.end; p++)
          read_[task.attempt].push_back({job_->id(), {edge.producer, p}, range.attempt});
        for (uint32_t p = range.producers.begin; p < range.producers.end; p++)
          check_input(task, group.dataset, {job_->id(), {edge.producer, p}, range.attempt},
                      group.task_managers[range.location]);
      }
    }
  }

  void check_input(const job_commands::TaskDeployment& task, DatasetId dataset,
                   const AttemptId& producer, TaskManagerId at) {
    const PipelinedRegions& regions = job_->graph().regions();
    const auto region = [&](const AttemptId& attempt) {
      return regions.region_of(job_->graph().index_of(attempt.subtask));
    };
    if (region(producer) == region(task.attempt)) return;  // They run together.
    const auto found = task_managers_.find(at);
    if (found == task_managers_.end()) return;  // The job will learn of it.
    const auto running = found->second.tasks.find(producer);
    const bool there =
        found->second.outputs.contains(producer) ||
        (running != found->second.tasks.end() && running->second == TaskState::kEndOfData);
    if (found->second.released.contains({dataset, producer}))
      fail(to_string(task.attempt) + " reads what was released of " + to_string(producer));
    if (!there && !failed_.contains(producer))
      fail(to_string(task.attempt) + " does not find " + to_string(producer));
  }

  void start_task(TaskManagerId id, TaskManager& task_manager, const AttemptId& attempt) {
    for (const auto& [other, there] : task_managers_) {
      for (const auto& [running, state] : there.tasks) {
        if (running.subtask == attempt.subtask) fail("two attempts of one subtask run at once");
      }
    }
    task_manager.tasks[attempt] = TaskState::kInitializing;
    report(id, task_manager, attempt, TaskState::kInitializing);
  }

  /// A task of the TaskManager goes on, or breaks; or a heartbeat leaves.
  void progress(TaskManagerId id, TaskManager& task_manager, bool faults) {
    if (task_manager.tasks.empty() || random_->one_in(6)) {
      std::vector<AttemptId> hosted;
      for (const auto& [attempt, state] : task_manager.tasks) hosted.push_back(attempt);
      task_manager.from_it.push_back(
          [this, id, hosted] { return job_->on_hosted(now_, id, hosted); });
      return;
    }
    auto it = std::next(task_manager.tasks.begin(),
                        static_cast<long>(random_->below(task_manager.tasks.size())));
    const AttemptId attempt = it->first;
    if (faults && random_->one_in(in_stages_ ? 100 : 15)) {
      task_manager.tasks.erase(it);
      failed_.insert(attempt);
      return report(id, task_manager, attempt, TaskState::kFailed);
    }
    if (it->second == TaskState::kEndOfData) return;
    if (it->second == TaskState::kRunning && random_->one_in(2)) {
      ExecutionProgress progress;
      progress.inputs_read = inputs_read_[attempt] |= random_->next() & random_->next();
      task_manager.from_it.push_back([this, id, attempt, progress] {
        job_->on_progress(now_, id, attempt, progress);
        return JobCommands();
      });
      return;
    }
    it->second =
        it->second == TaskState::kInitializing ? TaskState::kRunning : TaskState::kEndOfData;
    report(id, task_manager, attempt, it->second);
  }

  void report(TaskManagerId id, TaskManager& task_manager, const AttemptId& attempt,
              TaskState state) {
    TaskStateReport report;
    report.attempt = attempt;
    report.state = state;
    if (state == TaskState::kFailed) report.cause = user_error("threw");
    if (state == TaskState::kEndOfData && !random_->one_in(10)) {
      for (const DatasetId dataset : job_->graph().outputs_of(attempt.subtask.vertex))
        report.outputs.push_back({dataset, content_of(attempt)});
    }
    if (state == TaskState::kEndOfData && is_sink(attempt.subtask.vertex)) {
      report.committables.push_back({OperatorId{2}, to_string(attempt)});
    }
    task_manager.from_it.push_back(
        [this, id, report] { return job_->on_task_state(now_, id, report); });
  }

  void carry_out(JobCommands commands) {
    if (auto broken = invariants_.check_commands(*job_, commands)) fail(*broken);
    if (auto broken = invariants_.check(*job_)) fail(*broken);
    for (JobCommand& command : commands) {
      std::visit([&](auto& c) { send(c); }, command);
    }
    for (const JobId& id : resources_.assign()) {
      if (!ended()) carry_out(job_->on_slots(now_, resources_.slots_of(id)));
    }
  }

  void send(const job_commands::RequireSlots& c) {
    resources_.take_back(job_->id(), c.returned);
    resources_.require(job_->id(), c.total, c.needed, c.idle);
  }
  void send(const job_commands::ReleaseJob&) {}
  template <class Command>
  void send(const Command& command) {
    const auto it = task_managers_.find(command.to);
    if (it != task_managers_.end()) it->second.to_it.push_back(command);
  }

  /// What an attempt makes: mostly the same as every other one of its subtask.
  uint64_t content_of(const AttemptId& attempt) {
    const auto [it, added] = contents_.try_emplace(attempt, 1);
    if (added && random_->one_in(4)) it->second = random_->next();
    return it->second;
  }

  /// Whoever ended has read what its producers made at last, or the same.
  bool check_read() {
    const ExecutionGraph& graph = job_->graph();
    for (const auto& [consumer, producers] : read_) {
      if (graph.at(consumer.subtask).attempt != consumer.attempt) continue;
      for (const AttemptId& producer : producers) {
        const AttemptId last{job_->id(), producer.subtask, graph.at(producer.subtask).attempt};
        if (content_of(last) != content_of(producer))
          return fail(to_string(consumer) + " has read " + to_string(producer) + ", and " +
                      to_string(last) + " made something else");
        spared_ += last != producer;
      }
    }
    return true;
  }

  /// What must, and nothing else.
  bool check_restarts() {
    model_->end();
    return model_->problems().empty() ? true : fail(model_->problems().front());
  }

  bool is_sink(VertexId vertex) const { return job_->graph().outputs_of(vertex).empty(); }

  bool check_published() {
    const ExecutionGraph& graph = job_->graph();
    std::set<std::string> wanted;
    for (uint32_t i = 0; i < graph.task_count(); i++) {
      const SubtaskId subtask = graph.subtask_at(i);
      if (is_sink(subtask.vertex))
        wanted.insert(to_string(AttemptId{job_->id(), subtask, graph.at(i).attempt}));
    }
    return published_ == wanted ? true : fail("published is not what the last attempt left");
  }

  std::unique_ptr<Random> random_;
  std::unique_ptr<JobMaster> job_;
  std::optional<RestartModel> model_;
  bool full_ = false;  // Everything restarts, whatever failed.
  ResourceManager resources_;
  JobMasterInvariants invariants_;
  std::map<TaskManagerId, TaskManager> task_managers_;
  std::set<std::string> published_;
  std::set<AttemptId> failed_;
  std::map<AttemptId, std::vector<AttemptId>> read_;  // By consumer.
  std::map<AttemptId, uint64_t> contents_;
  std::map<AttemptId, uint64_t> inputs_read_;  // Bits.
  uint32_t spared_ = 0;
  uint32_t bad_commits_ = 0;
  bool in_stages_ = false;  // What is lost are files rather than tasks.
  uint64_t next_task_manager_ = 1;
  TimePoint now_{};
  std::string broken_;
};

TEST(JobMasterRandomTest, KeepsItsInvariantsAndEndsWhateverHappens) {
  uint64_t restarts = 0, spared = 0, readers_spared = 0;
  std::map<JobState, uint32_t> ends;
  for (uint64_t seed = 1; seed <= 3400; seed++) {
    RandomCluster cluster(seed);
    ASSERT_TRUE(cluster.run()) << "seed " << seed << ": " << cluster.broken();
    restarts += cluster.restarts();
    spared += cluster.spared();
    readers_spared += cluster.readers_spared();
    ends[cluster.state()]++;
  }
  EXPECT_GT(restarts, 3000u);  // The faults were felt.
  EXPECT_GT(spared, 10u);
  EXPECT_GT(readers_spared, 10u) << readers_spared;
  EXPECT_GT(ends[JobState::kFinished], 2000u);
  EXPECT_GT(ends[JobState::kCanceled], 20u);
}

}  // namespace
}  // namespace freshet
