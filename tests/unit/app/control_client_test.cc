#include "runtime/app/control_client.h"

#include <gtest/gtest.h>

#include <atomic>

#include "network/local_transport.h"
#include "network/message_channel.h"
#include "runtime/base/hash.h"
#include "runtime/base/thread_executor.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {
namespace {

/// Answers as told, on a thread of its own.
class FakeJobManager final : public MessageChannel::Handler {
 public:
  FakeJobManager(Transport& transport, const Clock& clock)
      : executor_("fake-jm", clock), mailbox_(executor_) {
    auto listener =
        transport.listen({"127.0.0.1", 0}, [this](std::shared_ptr<Connection> connection) {
          mailbox_.post("accept", [this, connection] {
            channels_.push_back(MessageChannel::open(connection, mailbox_, *this));
          });
        });
    listener_ = std::move(listener).value();
  }
  ~FakeJobManager() override {
    listener_.reset();
    mailbox_.post("stop", [this] {
      for (const auto& channel : channels_) channel->detach();
    });
    executor_.stop();
  }

  Address address() const { return listener_->address(); }

  std::atomic<bool> silent{false};  // Takes requests and never answers.
  std::atomic<bool> other_version{false};
  std::atomic<bool> refuse{false};  // Answers Hello with an error.
  std::atomic<bool> hang_up{false};
  std::atomic<size_t> blob_bytes{0};

 private:
  void on_message(const std::shared_ptr<MessageChannel>& channel, std::string payload) override {
    proto::Envelope request;
    ASSERT_TRUE(request.ParseFromString(payload));
    proto::Envelope reply;
    reply.set_request_id(request.request_id());
    if (request.has_hello()) {
      EXPECT_EQ(request.hello().role(), proto::Hello::CLIENT);
      auto* status = reply.mutable_hello_reply()->mutable_status();
      reply.mutable_hello_reply()->set_library_version(other_version ? "9.8.7" : FRESHET_VERSION);
      reply.mutable_hello_reply()->set_protocol_version(kProtocolVersion);
      if (refuse) {
        status->set_code(static_cast<uint32_t>(StatusCode::kInvalidArgument));
        status->set_message("wrong secret");
      }
    } else if (hang_up) {
      return channel->close();
    } else if (silent) {
      return;
    } else if (request.has_put_blob()) {
      blob_bytes += request.put_blob().data().size();
      if (!request.put_blob().last()) return;
      reply.mutable_put_blob_reply();
    } else if (request.has_list_jobs()) {
      auto* job = reply.mutable_list_jobs_reply()->add_jobs();
      job->set_name("words");
      job->set_state(static_cast<uint32_t>(JobState::kRunning));
      job->set_source_records(7);
    } else {
      auto* status = reply.mutable_error_reply()->mutable_status();
      status->set_code(static_cast<uint32_t>(StatusCode::kNotFound));
      status->set_message("no such job");
    }
    channel->send(reply.SerializeAsString());
  }
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status&) override {}

  ThreadExecutor executor_;
  Mailbox mailbox_;
  std::vector<std::shared_ptr<MessageChannel>> channels_;
  std::unique_ptr<Listener> listener_;
};

class ControlClientTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<ControlClient>> connect() {
    ControlClient::Options options;
    options.job_manager = job_manager_.address();
    options.request_timeout = request_timeout_;
    return ControlClient::connect(options, transport_, *clock_);
  }

  const std::unique_ptr<Clock> clock_ = make_system_clock();
  ThreadExecutor network_{"network", *clock_};
  LocalTransport transport_{network_};
  FakeJobManager job_manager_{transport_, *clock_};
  Duration request_timeout_ = 30s;
};

TEST_F(ControlClientTest, ReadsTheListOfJobs) {
  const auto client = connect();
  ASSERT_TRUE(client.ok()) << client.status().message();
  const auto jobs = (*client)->list();
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ((*jobs)[0].name, "words");
  EXPECT_EQ((*jobs)[0].state, JobState::kRunning);
  EXPECT_EQ((*jobs)[0].source_records, 7u);
}

TEST_F(ControlClientTest, SendsALargeBlobInPieces) {
  const auto client = connect();
  ASSERT_TRUE(client.ok());
  const std::string module(5'000'000, 'm');
  EXPECT_TRUE((*client)->put_blob(content_hash(module), module).ok());
  EXPECT_EQ(job_manager_.blob_bytes, module.size());
  EXPECT_TRUE((*client)->put_blob(content_hash(""), "").ok());
}

TEST_F(ControlClientTest, GivesTheErrorThatTheJobManagerAnswers) {
  const auto client = connect();
  ASSERT_TRUE(client.ok());
  const auto job = (*client)->get(JobId{1, 2});
  EXPECT_EQ(job.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(job.status().message(), "no such job");
}

TEST_F(ControlClientTest, SaysWhatToDoWhenNobodyListens) {
  ControlClient::Options options;
  options.job_manager = {"127.0.0.1", 1};
  const auto client = ControlClient::connect(options, transport_, *clock_);
  EXPECT_EQ(client.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(client.status().message().find("127.0.0.1:1"), std::string::npos);
  EXPECT_NE(client.status().message().find("freshet cluster start"), std::string::npos);
}

TEST_F(ControlClientTest, IsRefusedWithTheJobManagersWords) {
  job_manager_.refuse = true;
  const auto client = connect();
  EXPECT_EQ(client.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(client.status().message(), "wrong secret");
}

TEST_F(ControlClientTest, RefusesAJobManagerOfAnotherVersionAndNamesBoth) {
  job_manager_.other_version = true;
  for (const bool it_refuses : {false, true}) {
    job_manager_.refuse = it_refuses;
    const auto client = connect();
    EXPECT_EQ(client.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(client.status().message().find("has version 9.8.7 (protocol " +
                                             std::to_string(kProtocolVersion) +
                                             "), this client has version " FRESHET_VERSION),
              std::string::npos)
        << client.status().to_string();
  }
}

TEST_F(ControlClientTest, RefusesASubmissionThatIsTooLargeAndStaysConnected) {
  const auto client = connect();
  ASSERT_TRUE(client.ok());
  Submission submission;
  submission.build.arguments = {std::string(kMessageBytesMax, 'x')};
  const Status refused = (*client)->submit(submission).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("at most 67108864 are allowed"), std::string::npos)
      << refused.to_string();
  EXPECT_TRUE((*client)->list().ok());
}

TEST_F(ControlClientTest, GivesUpWhenNoAnswerComes) {
  request_timeout_ = 50ms;
  job_manager_.silent = true;
  const auto client = connect();
  ASSERT_TRUE(client.ok());
  EXPECT_EQ((*client)->list().status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ControlClientTest, FailsRequestsWhenTheConnectionIsLost) {
  job_manager_.hang_up = true;
  const auto client = connect();
  ASSERT_TRUE(client.ok());
  EXPECT_EQ((*client)->list().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ((*client)->cancel(JobId{1, 2}).code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace freshet
