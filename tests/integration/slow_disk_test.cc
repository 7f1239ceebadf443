#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/integration/forwarding_file_system.h"
#include "tests/integration/thread_cluster.h"

namespace freshet::testing {
namespace {

constexpr int64_t kElements = kParallelism;   // Each for a subtask of its own.
constexpr int64_t kRecordsOfEach = 16 << 10;  // Many times the memory that there is.
constexpr size_t kRecordBytes = 1024;

/// The local disk, on which spill files stand still until told otherwise.
class StalledSpillDisk final : public ForwardingFileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, ForwardingFileSystem::create(path));
    if (path.find("/spill/") == path.npos) return file;
    return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, std::move(file)));
  }

  Status remove(const std::string& path) override {
    if (path.find("/spill/") != path.npos) {
      char name[16] = {};
      pthread_getname_np(pthread_self(), name, sizeof name);
      std::lock_guard lock(mutex_);
      removers_.insert(name);
    }
    return ForwardingFileSystem::remove(path);
  }

  /// The threads that removed spill files.
  std::set<std::string> removers() {
    std::lock_guard lock(mutex_);
    return removers_;
  }

  /// Whether something is being written now, which it is not.
  bool stands() {
    std::lock_guard lock(mutex_);
    return standing_ > 0;
  }
  void go_on() {
    std::lock_guard lock(mutex_);
    goes_on_ = true;
    changed_.notify_all();
  }

 private:
  class Writer final : public WritableFile {
   public:
    Writer(StalledSpillDisk& disk, std::unique_ptr<WritableFile> file)
        : disk_(disk), file_(std::move(file)) {}
    Status append(std::string_view bytes) override {
      disk_.stand();
      return file_->append(bytes);
    }
    Status sync() override { return file_->sync(); }
    Status close() override { return file_->close(); }

   private:
    StalledSpillDisk& disk_;
    const std::unique_ptr<WritableFile> file_;
  };

  void stand() {
    std::unique_lock lock(mutex_);
    if (goes_on_) return;
    ++standing_;
    changed_.wait(lock, [this] { return goes_on_; });
    --standing_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t standing_ = 0;
  std::set<std::string> removers_;
  bool goes_on_ = false;
};

/// Two jobs of one module.
class SlowDiskTest : public ::testing::Test {
 protected:
  ~SlowDiskTest() override { disk_->go_on(); }

  void build(Environment& env) {
    const bool bursts = env.arguments().flag("bursts", "Each element becomes megabytes.");
    const auto sizes =
        env.from_source(sequence(1, kElements))
            .partition_custom(
                [](int64_t key, uint32_t tasks) { return static_cast<uint32_t>(key % tasks); },
                [](const int64_t& number) { return number; })
            .flat_map([this, bursts](const int64_t&, Collector<std::string>& out) {
              const Inside inside(*this);
              for (int64_t i = 0; i < (bursts ? kRecordsOfEach : 1); ++i)
                out.collect(std::string(kRecordBytes, 'x'));
            })
            .rebalance()
            .map([this, bursts](const std::string& record) {
              if (bursts) taken_.fetch_add(1);
              return static_cast<int64_t>(record.size());
            });
    if (bursts) {
      sizes.filter([](const int64_t& size) { return size != kRecordBytes; })
          .sink_to(collect_sink<int64_t>(altered_));
    } else {
      sizes.sink_to(collect_sink<int64_t>(sizes_));
    }
  }

  /// A task in the middle of an element.
  class Inside {
   public:
    explicit Inside(SlowDiskTest& test) : test_(test) { add(1); }
    ~Inside() { add(-1); }

   private:
    void add(int change) {
      std::lock_guard lock(test_.mutex_);
      test_.inside_ += change;
      test_.changed_.notify_all();
    }
    SlowDiskTest& test_;
  };

  ThreadCluster::Options cluster_options() const {
    return {.task_managers = {"only"},
            .jobs_max = 2,
            .configuration = {{std::string(config::kNetworkMemory.name), "4 mb"},
                              {std::string(config::kOverdraft.name), "64 kb"}},
            .files = disk_};
  }

  /// Once twice as many tasks as there are workers are in the middle of an element: some wait
  /// there.
  JobId start_bursts(ThreadCluster& cluster) {
    const JobId bursts = cluster.submit(submission_of(*module_, {"--bursts"}));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_ == kParallelism; });
    return bursts;
  }

  void expect_that_another_job_runs(ThreadCluster& cluster) {
    const JobReport other = cluster.run(submission_of(*module_));
    EXPECT_EQ(other.state, JobState::kFinished) << other.cause.to_string();
    EXPECT_EQ(sizes_->values(), std::vector<int64_t>(kElements, kRecordBytes));
  }

  const std::shared_ptr<StalledSpillDisk> disk_ = std::make_shared<StalledSpillDisk>();
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  std::atomic<int64_t> taken_ = 0;
  const std::shared_ptr<CollectedResults<int64_t>> altered_ =
      std::make_shared<CollectedResults<int64_t>>();
  const std::shared_ptr<CollectedResults<int64_t>> sizes_ =
      std::make_shared<CollectedResults<int64_t>>();
  const std::shared_ptr<InProcessModule> module_ =
      std::make_shared<InProcessModule>("two jobs", [this](Environment& env) { build(env); });
};

TEST_F(SlowDiskTest, HoldsUpTheJobThatSpillsAndNobodyElse) {
  ThreadCluster cluster(module_, cluster_options());
  const JobId bursts = start_bursts(cluster);
  expect_that_another_job_runs(cluster);
  EXPECT_TRUE(disk_->stands());

  disk_->go_on();
  const JobReport report = cluster.wait_for(bursts);
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(taken_.load(), kElements * kRecordsOfEach);
  EXPECT_TRUE(altered_->values().empty());
  EXPECT_TRUE(cluster.nothing_is_spilled());
  EXPECT_EQ(disk_->removers(), std::set<std::string>{"tm-spill"});  // No worker, ever.
}

TEST_F(SlowDiskTest, JobThatSpillsCanBeCancelled) {
  ThreadCluster cluster(module_, cluster_options());
  const JobId bursts = start_bursts(cluster);
  EXPECT_TRUE(cluster.client().cancel(bursts).ok());
  JobReport report = cluster.client().get(bursts).value();
  while (!is_terminal(report.state)) report = cluster.client().get(bursts).value();
  EXPECT_EQ(report.state, JobState::kCanceled) << report.cause.to_string();
  EXPECT_TRUE(disk_->stands());
  expect_that_another_job_runs(cluster);
  disk_->go_on();
  EXPECT_TRUE(cluster.nothing_is_spilled());
}

}  // namespace
}  // namespace freshet::testing
