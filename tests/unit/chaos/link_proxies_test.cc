#include "runtime/chaos/link_proxies.h"

#include <fcntl.h>

#include <atomic>

#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"
#include "tests/unit/chaos/link_proxies_fixture.h"

namespace freshet::chaos {
namespace {

using End = Stream::End;

TEST_F(LinkProxiesTest, PassOnStreamsAndTheirEnds) {
  auto [client, server] = connected();
  EXPECT_TRUE(client.say("last"));
  client.end_writing();
  EXPECT_EQ(server.hear(4), "last");
  EXPECT_EQ(server.end(), End::kOrderly);
  EXPECT_TRUE(server.say("answer"));  // The other way goes on.
  EXPECT_EQ(client.hear(6), "answer");
  server.close();
  EXPECT_EQ(client.end(), End::kOrderly);
  const LinkCounters there = counters("taskmanager-1", "jobmanager");
  EXPECT_EQ(there, (LinkCounters{"taskmanager-1", "jobmanager", 1, 0, 0, 8}));
  EXPECT_EQ(counters("jobmanager", "taskmanager-1").bytes, 10u);
}

TEST_F(LinkProxiesTest, PassOnThatAConnectionHasFailed) {
  {
    auto [client, server] = connected();
    client.reset();
    EXPECT_EQ(server.end(), End::kReset);
  }
  auto [client, server] = connected();
  server.reset();
  EXPECT_EQ(client.end(), End::kReset);
}

std::string some_bytes(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST_F(LinkProxiesTest, PassOnAllBytesInOrderBothWaysAtOnce) {
  auto [client, server] = connected();
  const std::string bytes = some_bytes(20 << 20);
  const auto clock = make_system_clock();
  ThreadExecutor client_sends("client-sends", *clock);
  ThreadExecutor server_sends("server-sends", *clock);
  ThreadExecutor server_hears("server-hears", *clock);
  std::string heard;
  client_sends.post("say", [&, &stream = client] { EXPECT_TRUE(stream.say(bytes)); });
  server_sends.post("say", [&, &stream = server] { EXPECT_TRUE(stream.say(bytes)); });
  server_hears.post("hear", [&, &stream = server] { heard = stream.hear(bytes.size()); });
  EXPECT_TRUE(client.hear(bytes.size()) == bytes);
  client_sends.stop();
  server_sends.stop();
  server_hears.stop();
  EXPECT_TRUE(heard == bytes);
}

TEST_F(LinkProxiesTest, HoldABoundedAmountOfWhatIsNotTaken) {
  auto [client, server] = connected();
  const std::string bytes = some_bytes(64 << 10);
  fcntl(client.descriptor(), F_SETFL, O_NONBLOCK);
  size_t sent = 0;
  for (int quiet = 0; quiet < 50;) {
    const ssize_t size = ::send(client.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size > 0) {
      sent += static_cast<size_t>(size);
      quiet = 0;
    } else {
      ASSERT_EQ(errno, EAGAIN);
      ::poll(nullptr, 0, 2);
      ++quiet;
    }
    ASSERT_LT(sent, 64u << 20);
  }
  EXPECT_EQ(server.hear(sent).size(), sent);
}

TEST_F(LinkProxiesTest, CutWhatThereIsAndWhatComesUntilHealed) {
  auto [client, server] = connected();
  auto [other, other_server] = connected("taskmanager-2");
  auto [data, data_server] = connected("taskmanager-1", "taskmanager-2");
  auto [stranger, stranger_server] = connected("");
  const auto broken = proxies_->break_link(fault(FaultKind::kCut));
  EXPECT_EQ(broken.connections, 1u);
  EXPECT_EQ(client.end(), End::kReset);
  EXPECT_EQ(server.end(), End::kReset);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connect("taskmanager-1").end(), End::kReset);
  expect_works(other, other_server);
  expect_works(data, data_server);
  expect_works(stranger, stranger_server);
  EXPECT_FALSE(job_manager_.somebody_within(0));
  proxies_->heal(broken.number);
  connected();
  EXPECT_EQ(counters("taskmanager-1", "jobmanager"),
            (LinkCounters{"taskmanager-1", "jobmanager", 2, 3, 1, 8}));
}

TEST_F(LinkProxiesTest, CutFindsTheConnectionWhoeverHasMadeIt) {
  auto [client, server] = connected("taskmanager-1", "taskmanager-2");
  EXPECT_EQ(
      proxies_->break_link(fault(FaultKind::kCut, "taskmanager-2 <-> taskmanager-1")).connections,
      1u);
  EXPECT_EQ(client.end(), End::kReset);
  EXPECT_EQ(server.end(), End::kReset);
}

TEST_F(LinkProxiesTest, HalfOpenNothingComesThroughUntilHealedAndThenAllOfIt) {
  auto [client, server] = connected();
  const auto broken = proxies_->break_link(fault(FaultKind::kHalfOpen));
  EXPECT_EQ(broken.connections, 1u);
  EXPECT_TRUE(client.say("there"));
  EXPECT_TRUE(server.say("back"));
  EXPECT_TRUE(server.silent_for(100));
  EXPECT_TRUE(client.silent_for(0));
  proxies_->heal(broken.number);
  EXPECT_EQ(server.hear(5), "there");
  EXPECT_EQ(client.hear(4), "back");
  expect_works(client, server);
}

TEST_F(LinkProxiesTest, HalfOpenInOneDirectionTheOtherOneGoesOn) {
  auto [client, server] = connected();
  proxies_->break_link(fault(FaultKind::kHalfOpen, "taskmanager-1 -> jobmanager"));
  EXPECT_TRUE(client.say("there"));
  EXPECT_TRUE(server.say("back"));
  EXPECT_EQ(client.hear(4), "back");
  EXPECT_TRUE(server.silent_for(50));
  proxies_->heal_all();
  EXPECT_EQ(server.hear(5), "there");
}

TEST_F(LinkProxiesTest, HalfOpenHidesThatAProcessIsGone) {
  auto [client, server] = connected();
  auto [killed, killed_server] = connected();
  proxies_->break_link(fault(FaultKind::kHalfOpen));
  client.close();
  killed.reset();
  EXPECT_TRUE(server.silent_for(100));
  EXPECT_TRUE(killed_server.silent_for(0));
  proxies_->heal_all();
  EXPECT_EQ(server.end(), End::kOrderly);
  EXPECT_EQ(killed_server.end(), End::kReset);
}

TEST_F(LinkProxiesTest, WhatIsSentToAProcessThatIsGoneVanishesWhileItCannotSaySo) {
  auto [client, server] = connected();
  proxies_->break_link(fault(FaultKind::kHalfOpen, "taskmanager-1 -> jobmanager"));
  client.reset();
  const std::string bytes = some_bytes(8 << 20);  // More than all buffers hold.
  EXPECT_TRUE(server.say(bytes));
  EXPECT_TRUE(server.silent_for(0));
  proxies_->heal_all();
  EXPECT_EQ(server.end(), End::kReset);
}

TEST_F(LinkProxiesTest, NoConnectionIsMadeOverAHalfOpenLink) {
  proxies_->break_link(fault(FaultKind::kHalfOpen, "jobmanager -> taskmanager-1"));
  Stream patient = connect("taskmanager-1");
  EXPECT_TRUE(patient.say("hello"));
  connect("taskmanager-1").close();
  EXPECT_FALSE(job_manager_.somebody_within(100));
  proxies_->heal_all();
  Stream server = job_manager_.accept();
  EXPECT_EQ(server.hear(5), "hello");
  EXPECT_EQ(counters("taskmanager-1", "jobmanager").refused, 1u);  // Who gave up before.
  EXPECT_FALSE(job_manager_.somebody_within(0));
}

TEST_F(LinkProxiesTest, SlowBytesComeLateInOrderAndSoDoesTheEnd) {
  auto [client, server] = connected();
  Fault slow = fault(FaultKind::kSlow, "taskmanager-1 -> jobmanager");
  slow.delay = 150ms;
  proxies_->break_link(slow);
  const auto clock = make_system_clock();
  const TimePoint begin = clock->now();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(client.say("0123456789"));
    EXPECT_TRUE(server.say("quick"));
    EXPECT_EQ(client.hear(5), "quick");
  }
  client.end_writing();
  EXPECT_EQ(server.hear(1), "0");
  EXPECT_GE(clock->now() - begin, Duration(150ms));
  EXPECT_EQ(server.hear(199).size(), 199u);
  EXPECT_EQ(server.end(), End::kOrderly);
}

TEST_F(LinkProxiesTest, SlowBytesComeAtTheRateOfTheLink) {
  auto [client, server] = connected();
  Fault slow = fault(FaultKind::kSlow);
  slow.bytes_per_second = 1'000'000;
  const auto broken = proxies_->break_link(slow);
  const auto clock = make_system_clock();
  const std::string bytes = some_bytes(300'000);
  const TimePoint begin = clock->now();
  EXPECT_TRUE(client.say(bytes));
  EXPECT_TRUE(server.hear(bytes.size()) == bytes);
  EXPECT_GE(clock->now() - begin, Duration(280ms));
  EXPECT_TRUE(client.say(bytes));
  proxies_->heal(broken.number);  // What it held comes at once.
  EXPECT_TRUE(server.hear(bytes.size()) == bytes);
}

TEST_F(LinkProxiesTest, FlapCutsAgainAndAgain) {
  Fault flap = fault(FaultKind::kFlap);
  flap.period = 30ms;
  auto first = connected();
  proxies_->break_link(flap);
  EXPECT_EQ(first.first.end(), End::kReset);
  for (int i = 0; i < 3; ++i) {
    Stream client = connect("taskmanager-1");
    while (counters("taskmanager-1", "jobmanager").connections < static_cast<uint64_t>(i + 2))
      client = connect("taskmanager-1");
    Stream server = job_manager_.accept();
    EXPECT_EQ(server.end(), End::kReset);
    EXPECT_EQ(client.end(), End::kReset);
  }
  EXPECT_GE(counters("taskmanager-1", "jobmanager").resets, 4u);
}

TEST_F(LinkProxiesTest, RefuseWhileTheTargetIsGone) {
  proxies_->drop_target("jobmanager");
  EXPECT_EQ(connect("taskmanager-1").end(), End::kReset);
  proxies_->set_target("jobmanager", job_manager_.address());
  connected();
  job_manager_.close();  // Nobody listens there any more.
  EXPECT_EQ(connect("taskmanager-1").end(), End::kReset);
  EXPECT_EQ(counters("taskmanager-1", "jobmanager").refused, 2u);
}

TEST_F(LinkProxiesTest, LeadToWhereTheTargetIsNow) {
  auto [client, server] = connected();
  Server moved;
  proxies_->expect_target("jobmanager");
  Stream patient = connect("taskmanager-1");
  EXPECT_TRUE(patient.say("hello"));
  EXPECT_TRUE(patient.silent_for(20));
  proxies_->set_target("jobmanager", moved.address());
  EXPECT_EQ(moved.accept().hear(5), "hello");
  expect_works(client, server);  // Made before.
}

TEST_F(LinkProxiesTest, ServeManyConnections) {
  constexpr size_t kConnections = 200;
  std::vector<std::pair<Stream, Stream>> all;
  for (size_t i = 0; i < kConnections; ++i) all.push_back(connected());
  for (auto& [client, server] : all) expect_works(client, server);
  EXPECT_EQ(proxies_->break_link(fault(FaultKind::kCut)).connections, kConnections);
  for (auto& [client, server] : all) {
    EXPECT_EQ(client.end(), End::kReset);
    EXPECT_EQ(server.end(), End::kReset);
  }
}

TEST_F(LinkProxiesTest, RefuseMoreConnectionsThanTheyMayHave) {
  LinkProxies::Options options;
  options.connections_max = 2;
  start(options);
  auto first = connected("");
  auto second = connected("");
  EXPECT_EQ(connect("").end(), End::kReset);
  expect_works(first.first, first.second);
  first.first.reset();
  EXPECT_EQ(first.second.end(), End::kReset);
  connected("");
}

TEST_F(LinkProxiesTest, EndWithOpenConnectionsOfEveryKind) {
  auto works = connected();
  auto held = connected("taskmanager-3");
  proxies_->break_link(fault(FaultKind::kHalfOpen, "taskmanager-3 <-> jobmanager"));
  EXPECT_TRUE(held.first.say("held"));
  Stream waits = connect("taskmanager-3");
  proxies_.reset();
  EXPECT_NE(works.first.end(), End::kNone);
  EXPECT_NE(works.second.end(), End::kNone);
  EXPECT_NE(held.second.end(), End::kNone);
  EXPECT_NE(waits.end(), End::kNone);
}

TEST_F(LinkProxiesTest, AreBrokenAndHealedByManyThreadsWhileBytesFlow) {
  auto [client, server] = connected();
  const auto clock = make_system_clock();
  ThreadExecutor sender("sender", *clock);
  const std::string bytes = some_bytes(4 << 20);
  sender.post("say", [&, &stream = client] { EXPECT_TRUE(stream.say(bytes)); });
  std::vector<std::unique_ptr<ThreadExecutor>> breakers;
  for (int i = 0; i < 3; ++i) {
    breakers.push_back(std::make_unique<ThreadExecutor>("breaker", *clock));
    breakers.back()->post("break", [&, i] {
      for (int round = 0; round < 50; ++round) {
        Fault slow = fault(i == 0 ? FaultKind::kHalfOpen : FaultKind::kSlow);
        slow.delay = i == 1 ? Duration(1ms) : Duration(0);
        slow.bytes_per_second = i == 2 ? 50'000'000 : 0;
        const auto broken = proxies_->break_link(slow);
        proxies_->counters();
        proxies_->heal(broken.number);
      }
    });
  }
  EXPECT_TRUE(server.hear(bytes.size()) == bytes);
  for (const auto& one : breakers) one->stop();
  sender.stop();
}

}  // namespace
}  // namespace freshet::chaos
