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

constexpr int64_t kElements = kParallelism * kParallelism;  // Of each source for each consumer one.
constexpr int64_t kRecordsOfEach = 4 << 10;
constexpr size_t kRecordBytes = 1024;

/// The local disk, on which spill files stand still until told otherwise.
class StalledSpillDisk final : public ForwardingFileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, ForwardingFileSystem::create(path));
    if (path.find("/spill/") == path.npos) return file;
    return std::unique_ptr<WritableFile>(std::make_unique<Writer>(*this, path, std::move(file)));
  }

  /// Until so many spill files are being written.
  void wait_for_files(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return standing_.size() >= count; });
  }
  size_t standing() {
    std::lock_guard lock(mutex_);
    return standing_.size();
  }
  void go_on() {
    std::lock_guard lock(mutex_);
    goes_on_ = true;
    changed_.notify_all();
  }

 private:
  class Writer final : public WritableFile {
   public:
    Writer(StalledSpillDisk& disk, std::string path, std::unique_ptr<WritableFile> file)
        : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
    Status append(std::string_view bytes) override {
      disk_.stand(path_);
      return file_->append(bytes);
    }
    Status sync() override { return file_->sync(); }
    Status close() override { return file_->close(); }

   private:
    StalledSpillDisk& disk_;
    const std::string path_;
    const std::unique_ptr<WritableFile> file_;
  };

  void stand(const std::string& path) {
    std::unique_lock lock(mutex_);
    if (goes_on_) return;
    standing_.insert(path);
    changed_.notify_all();
    changed_.wait(lock, [this] { return goes_on_; });
    standing_.erase(path);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> standing_;
  bool goes_on_ = false;
};

/// Two jobs of one module.
class SlowDiskTest : public ::testing::Test {
 protected:
  ~SlowDiskTest() override { disk_->go_on(); }

  void build(Environment& env) {
    const bool bursts = env.arguments().flag("bursts", "Each element becomes megabytes.");
    const auto sizes = env.from_source(sequence(1, kElements))
                           .rebalance()
                           .flat_map([bursts](const int64_t&, Collector<std::string>& out) {
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

  const std::shared_ptr<StalledSpillDisk> disk_ = std::make_shared<StalledSpillDisk>();
  std::atomic<int64_t> taken_ = 0;
  const std::shared_ptr<CollectedResults<int64_t>> altered_ =
      std::make_shared<CollectedResults<int64_t>>();
  const std::shared_ptr<CollectedResults<int64_t>> sizes_ =
      std::make_shared<CollectedResults<int64_t>>();
  const std::shared_ptr<InProcessModule> module_ =
      std::make_shared<InProcessModule>("two jobs", [this](Environment& env) { build(env); });
};

TEST_F(SlowDiskTest, HoldsUpTheJobThatSpillsAndNobodyElse) {
  ThreadCluster cluster(module_,
                        {.task_managers = {"only"},
                         .jobs_max = 2,
                         .configuration = {{std::string(config::kNetworkMemory.name), "4 mb"},
                                           {std::string(config::kOverdraft.name), "64 kb"}},
                         .files = disk_});
  const JobId bursts = cluster.submit(submission_of(*module_, {"--bursts"}));
  // Twice as many tasks as there are workers, each in the middle of an element.
  disk_->wait_for_files(kParallelism);

  const JobReport other = cluster.run(submission_of(*module_));
  EXPECT_EQ(other.state, JobState::kFinished) << other.cause.to_string();
  EXPECT_EQ(sizes_->values(), std::vector<int64_t>(kElements, kRecordBytes));
  EXPECT_EQ(disk_->standing(), kParallelism);

  disk_->go_on();
  const JobReport report = cluster.wait_for(bursts);
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(taken_.load(), kElements * kRecordsOfEach);
  EXPECT_TRUE(altered_->values().empty());
  EXPECT_TRUE(cluster.nothing_is_spilled());
}

}  // namespace
}  // namespace freshet::testing
