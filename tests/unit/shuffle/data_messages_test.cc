#include "shuffle/data_messages.h"

#include <gtest/gtest.h>

#include "runtime/base/random.h"

namespace freshet {
namespace {

std::string_view payload_of(const std::string& frame) {
  return std::string_view(frame).substr(kFrameHeaderBytes);
}

Attachment example() {
  Attachment attachment;
  attachment.job = JobId{1, 2};
  attachment.dataset = DatasetId{3};
  attachment.subpartition = 4;
  attachment.consumer = AttemptId{attachment.job, SubtaskId{VertexId{5}, 6}, 7};
  attachment.credit_bytes = 1024;
  attachment.producers = {{{0, 5}, 1}, {{8, 9}, 2}};
  attachment.positions = {{3, 77, 0x1234'5678'9abc'def0}, {8, 1, 0}};
  return attachment;
}

TEST(DataMessagesTest, AttachReadsAsWritten) {
  std::string frame;
  ASSERT_TRUE(append_attach(9, example(), &frame).ok());
  const auto header = FrameHeader::decode(frame);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->kind, FrameKind::kAttach);
  EXPECT_EQ(header->attachment, 9u);
  EXPECT_EQ(header->payload_bytes, payload_of(frame).size());
  const auto read = decode_attach(payload_of(frame));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->job, example().job);
  EXPECT_EQ(read->dataset, example().dataset);
  EXPECT_EQ(read->subpartition, 4u);
  EXPECT_EQ(read->consumer, example().consumer);
  EXPECT_EQ(read->credit_bytes, 1024u);
  EXPECT_EQ(read->producers, example().producers);
  EXPECT_EQ(read->positions, example().positions);
  EXPECT_EQ(read->find(4)->attempt, 1u);
  EXPECT_EQ(read->find(5), nullptr);
  EXPECT_EQ(read->find(9), nullptr);
  EXPECT_EQ(read->next_element(3), 77u);
  EXPECT_EQ(read->next_element(4), 0u);
  EXPECT_EQ(read->position(3).hash, 0x1234'5678'9abc'def0u);
  EXPECT_EQ(read->position(4).hash, 0u);
}

TEST(DataMessagesTest, OthersReadAsWritten) {
  std::string hello;
  append_hello({TaskManagerId{12}, "secret"}, &hello);
  EXPECT_EQ(decode_hello(payload_of(hello))->nonce, "secret");
  std::string refusal;
  append_refusal(failed_precondition("no"), &refusal);
  EXPECT_EQ(decode_refusal(payload_of(refusal)), failed_precondition("refused: no"));
  EXPECT_EQ(decode_refusal("no").code(), StatusCode::kDataLoss);
  EXPECT_EQ(decode_hello(payload_of(hello))->task_manager, TaskManagerId{12});

  std::string credit;
  append_credit({{1, 2, 3}, {4, 5, 6}}, &credit);
  ASSERT_EQ(decode_credit(payload_of(credit))->size(), 2u);
  EXPECT_EQ(decode_credit(payload_of(credit))->at(1).producer, 5u);
  std::string credit_back;
  append_credit_back({{1, 2, 3}, {4, 5, 6}}, &credit_back);
  EXPECT_EQ(FrameHeader::decode(credit_back)->kind, FrameKind::kCreditBack);
  EXPECT_EQ(decode_credit_back(payload_of(credit_back))->at(1), (CreditBack{4, 5, 6}));

  std::string ended;
  append_producers_ended(1, {{0, 3}, {5, 6}}, &ended);
  EXPECT_EQ(*decode_producers_ended(payload_of(ended)),
            (std::vector<ProducerSpan>{{0, 3}, {5, 6}}));

  std::string reply;
  append_attach_reply(1, {{2, 4}, aborted("why")}, &reply);
  EXPECT_EQ(decode_attach_reply(payload_of(reply))->cause, aborted("why"));
  EXPECT_EQ(decode_attach_reply(payload_of(reply))->producers, (ProducerSpan{2, 4}));
}

TEST(DataMessagesTest, RefusesEveryShorterAndLongerPayload) {
  std::string frame;
  ASSERT_TRUE(append_attach(9, example(), &frame).ok());
  for (size_t size = 0; size < payload_of(frame).size(); ++size) {
    EXPECT_FALSE(decode_attach(payload_of(frame).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_attach(std::string(payload_of(frame)) + "x").ok());
  std::string hello;
  append_hello({TaskManagerId{12}, "secret"}, &hello);
  for (size_t size = 0; size < payload_of(hello).size(); ++size) {
    EXPECT_FALSE(decode_hello(payload_of(hello).substr(0, size)).ok()) << size;
  }
}

TEST(DataMessagesTest, RefusesToAskForMoreThanAFrameHolds) {
  Attachment attachment = example();
  attachment.positions.clear();
  for (uint32_t producer = 0; producer < 60'000; ++producer)
    attachment.positions.push_back({producer, 1, 1});
  std::string frame;
  EXPECT_EQ(append_attach(9, attachment, &frame).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(frame.empty());
  attachment.positions.resize(51'900);
  ASSERT_TRUE(append_attach(9, attachment, &frame).ok());
  EXPECT_TRUE(FrameHeader::decode(frame).ok());
}

TEST(DataMessagesTest, RefusesRangesThatDoNotRise) {
  for (const auto& producers :
       std::vector<std::vector<AttachedProducers>>{{},
                                                   {{{3, 3}, 0}},
                                                   {{{4, 3}, 0}},
                                                   {{{0, 5}, 0}, {{4, 6}, 0}},
                                                   {{{5, 6}, 0}, {{0, 1}, 0}}}) {
    Attachment attachment = example();
    attachment.producers = producers;
    std::string frame;
    ASSERT_TRUE(append_attach(9, attachment, &frame).ok());
    EXPECT_FALSE(decode_attach(payload_of(frame)).ok());
  }
}

TEST(DataMessagesTest, SurvivesRandomBytes) {
  auto random = make_seeded_random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random->below(120), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random->below(random->one_in(2) ? 3 : 256));
    (void)decode_attach(bytes).ok();
    (void)decode_attach_reply(bytes).ok();
    (void)decode_credit(bytes).ok();
    (void)decode_backlog(bytes).ok();
    (void)decode_credit_back(bytes).ok();
    (void)decode_producers_ended(bytes).ok();
    EXPECT_FALSE(decode_hello(bytes).ok());
  }
}

}  // namespace
}  // namespace freshet
