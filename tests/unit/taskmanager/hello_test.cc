#include "taskmanager/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GreetingTest : public ::testing::Test {
 protected:
  void begin(const std::string& secret, const std::string& of_job_manager) {
    greeting_.emplace(
        Greeting::Options{HelloRole::kTaskManager, {"10.0.0.7", 6123}, FRESHET_VERSION, secret},
        *random_);
    job_manager_.emplace(
        SecretHandshake::Options{HandshakeSide::kAccepting, of_job_manager, "", ""}, *random_);
    proto::Envelope hello;
    ASSERT_TRUE(hello.ParseFromString(greeting_->hello()));
    EXPECT_THAT(greeting_->hello(), Not(HasSubstr("morning")));
    met_ = job_manager_->meet(hello.hello().nonce(), "1");
  }

  Result<std::string> challenge() {
    proto::Envelope envelope;
    envelope.mutable_hello_challenge()->set_nonce(job_manager_->nonce());
    return greeting_->on_message(envelope);
  }
  Status reply(const std::string& proof) {
    proto::Envelope envelope;
    envelope.mutable_hello_reply()->set_protocol_version(kProtocolVersion);
    envelope.mutable_hello_reply()->set_library_version(FRESHET_VERSION);
    envelope.mutable_hello_reply()->set_job_manager_epoch(5);
    envelope.mutable_hello_reply()->set_proof(proof);
    return greeting_->on_message(envelope).status();
  }

  const std::unique_ptr<Random> random_ = make_seeded_random(2);
  std::optional<Greeting> greeting_;
  std::optional<SecretHandshake> job_manager_;
  Status met_;
};

TEST_F(GreetingTest, EndsWithTheProofOfBoth) {
  begin("morning", "morning");
  const auto answer = challenge();
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(greeting_->done());
  EXPECT_THAT(*answer, Not(HasSubstr("morning")));
  proto::Envelope proof;
  ASSERT_TRUE(proof.ParseFromString(*answer));
  EXPECT_TRUE(job_manager_->check(proof.hello_proof().proof()).ok());
  EXPECT_TRUE(reply(job_manager_->proof()).ok());
  EXPECT_TRUE(greeting_->done());
  EXPECT_EQ(greeting_->epoch(), 5u);
}

TEST_F(GreetingTest, NeedsNoChallengeWithoutASecret) {
  begin("", "");
  EXPECT_TRUE(reply("").ok());
  EXPECT_TRUE(greeting_->done());
}

TEST_F(GreetingTest, BelievesNoJobManagerThatDoesNotProveItself) {
  begin("morning", "morning");
  EXPECT_THAT(reply("").message(), HasSubstr("the JobManager at 10.0.0.7:6123 has none"));
  begin("morning", "morning");
  ASSERT_TRUE(challenge().ok());
  EXPECT_THAT(reply("").message(), HasSubstr("does not know that of this TaskManager"));
  EXPECT_FALSE(greeting_->done());
  begin("morning", "evening");
  ASSERT_TRUE(challenge().ok());
  EXPECT_EQ(reply(job_manager_->proof()).code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(greeting_->done());
}

TEST_F(GreetingTest, AnswersOneChallengeAndNotItsOwn) {
  begin("morning", "morning");
  ASSERT_TRUE(challenge().ok());
  EXPECT_EQ(challenge().status().code(), StatusCode::kDataLoss);
  begin("morning", "morning");
  proto::Envelope hello, mirrored;
  ASSERT_TRUE(hello.ParseFromString(greeting_->hello()));
  mirrored.mutable_hello_challenge()->set_nonce(hello.hello().nonce());
  EXPECT_EQ(greeting_->on_message(mirrored).status().code(), StatusCode::kDataLoss);
}

TEST_F(GreetingTest, AnswersNoChallengeWithoutASecret) {
  begin("", "morning");
  EXPECT_THAT(met_.message(), HasSubstr("security.secret differs"));
  EXPECT_FALSE(challenge().ok());
}

}  // namespace
}  // namespace freshet
