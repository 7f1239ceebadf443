#include "taskmanager/hosted_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/local_transport.h"
#include "runtime/base/hash.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "tests/unit/taskmanager/deployments.h"

namespace freshet {
namespace {

using taskmanager_test::kJob;
using taskmanager_test::kModule;
using ::testing::HasSubstr;

/// The I/O executor runs only when the test says so: meanwhile its code has not returned.
class HostedJobTest : public ::testing::Test {
 protected:
  HostedJobTest() {
    EXPECT_TRUE(files_.create_directories("/state").ok());
    EXPECT_TRUE(files_.write_atomically("/state/" + content_hash(kModule) + ".so", kModule).ok());
  }

  /// As long as the code of the job runs that `io_` has begun.
  void let_code_run_for(Duration time) {
    job_->on_code_begins("builder");
    main_.advance(time);
  }

  void settle() {
    for (int i = 0; i < 10; ++i) {
      main_.run_ready();
      io_.run_ready();
    }
  }

  ManualClock clock_;
  ManualExecutor main_{clock_};
  ManualExecutor io_{clock_};
  Mailbox mailbox_{main_};
  LocalTransport transport_{main_};
  MemoryFileSystem files_;
  std::shared_ptr<taskmanager_test::JobScript> script_ =
      std::make_shared<taskmanager_test::JobScript>();
  taskmanager_test::ScriptLoader loader_{script_};
  ModuleStore modules_{
      "/state", BlobFetch::Options(), {transport_, mailbox_, io_, loader_, files_}};
  std::vector<Status> fatal_;
  std::shared_ptr<HostedJob> job_ = std::make_shared<HostedJob>(
      JobInformation{kJob, "numbers", content_hash(kModule), BuildOptions{},
                     fingerprint_of(taskmanager_test::logical_graph()),
                     std::make_shared<const JobGraph>(taskmanager_test::job_graph())},
      HostedJob::Environment{modules_, mailbox_, io_, files_, nullptr, 30s, 10s,
                             [this](const Status& status) { fatal_.push_back(status); }});
};

TEST_F(HostedJobTest, CodeThatDoesNotReturnEndsTheProcessOnceItsJobHasEnded) {
  let_code_run_for(10min);
  EXPECT_TRUE(fatal_.empty());
  job_->clean_up([](const Status&) {});
  main_.advance(10s);
  ASSERT_EQ(fatal_.size(), 1u);
  EXPECT_THAT(fatal_.front().message(),
              HasSubstr("job 'numbers' has ended, and its code did not return within 30 s "
                        "(task.cancellation.timeout): 'builder'"));
}

TEST_F(HostedJobTest, CodeHasItsTimeAlsoWhenItBeginsAfterTheEndOfItsJob) {
  job_->clean_up([](const Status&) {});
  main_.advance(1h);
  let_code_run_for(25s);
  EXPECT_TRUE(fatal_.empty());
  job_->on_code_ends();
  main_.advance(1h);
  let_code_run_for(25s);
  EXPECT_TRUE(fatal_.empty());
  main_.advance(10s);
  EXPECT_FALSE(fatal_.empty());
}

TEST_F(HostedJobTest, APauseOfTheProcessIsNoTimeOfItsCode) {
  job_->clean_up([](const Status&) {});
  let_code_run_for(20s);
  clock_.advance(1h);
  main_.run_ready();
  EXPECT_TRUE(fatal_.empty());
  main_.advance(25s);
  EXPECT_TRUE(fatal_.empty());
}

TEST_F(HostedJobTest, ReleasesItsCodeInTheLastCallOfIt) {
  Status prepared = internal_error("not yet");
  job_->prepare([&](const Status& status) { prepared = status; });
  settle();
  ASSERT_TRUE(prepared.ok()) << prepared.to_string();
  const long scripts = script_.use_count();
  bool cleaned = false;
  job_->clean_up([&](const Status&) {
    EXPECT_LT(script_.use_count(), scripts);  // What users hold is gone before anybody hears of it.
    cleaned = true;
  });
  settle();
  EXPECT_TRUE(cleaned);
  EXPECT_EQ(job_->built(), nullptr);
}

/// A commit that comes twice, just before the release of its job.
TEST_F(HostedJobTest, WhoWantsItsCodeWhenItGoesHearsThat) {
  job_->prepare([](const Status&) {});
  settle();
  ASSERT_NE(job_->built(), nullptr);
  Status prepared;
  job_->prepare([&](const Status& status) { prepared = status; });
  job_->clean_up([](const Status&) {});
  settle();
  EXPECT_EQ(prepared.code(), StatusCode::kAborted);
  EXPECT_THAT(prepared.message(), HasSubstr("job 'numbers' has ended"));
}

}  // namespace
}  // namespace freshet
