#include "runtime/chaos/connection_owner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "runtime/app/process_host.h"
#include "tests/unit/chaos/loopback.h"

namespace freshet::chaos {
namespace {

// As /proc/net/tcp says it on a machine whose lowest byte is first.
constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
    "   0: 0100007F:17EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "11\n"
    "   1: 0100007F:9C40 0100007F:17EB 06 00000000:00000000 03:00001770 00000000     0        0 0 "
    "3\n"
    "   2: 0100007F:9C40 0100007F:17EB 01 00000000:00000000 00:00000000 00000000  1000        0 "
    "987654321012 2 0000000000000000 20 4 0 10 -1\n"
    "   3: 0100007F:17EB 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 "
    "13\n";

constexpr uint16_t kServerPort = 0x17EB;
constexpr uint16_t kClientPort = 0x9C40;

TEST(ConnectionOwnerTest, FindsTheSocketOfOneEndAmongTheConnections) {
  const Address client{"127.0.0.1", kClientPort};
  const Address server{"127.0.0.1", kServerPort};
  EXPECT_EQ(socket_number({client, server}, kTable), 987654321012u);
  EXPECT_EQ(socket_number({server, client}, kTable), 13u);
  EXPECT_EQ(socket_number({{"127.0.0.1", 1}, server}, kTable), std::nullopt);
  EXPECT_EQ(socket_number({client, {"127.0.0.2", kServerPort}}, kTable), std::nullopt);
  EXPECT_EQ(socket_number({{"nowhere", kClientPort}, server}, kTable), std::nullopt);
  EXPECT_EQ(socket_number({client, server}, ""), std::nullopt);
}

TEST(ConnectionOwnerTest, TakesNoRowBeforeItIsWhole) {
  const ConnectionEnds last{{"127.0.0.1", kServerPort}, {"127.0.0.1", kClientPort}};
  for (size_t size = kTable.size() - 1; size > kTable.size() - 60; --size) {
    EXPECT_EQ(socket_number(last, kTable.substr(0, size)), std::nullopt);
  }
}

class ConnectionOwnerOfSocketsTest : public ::testing::Test {
 protected:
  std::optional<pid_t> owner(const std::vector<pid_t>& candidates, const ConnectionEnds& ends) {
    return owner_of(ends, candidates, *files_);
  }

  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  Server server_;
};

TEST_F(ConnectionOwnerOfSocketsTest, KnowsItsOwn) {
  Stream client;
  const ConnectionEnds ends{client.address(), server_.address()};
  EXPECT_EQ(owner({getpid()}, ends), std::nullopt);
  ASSERT_TRUE(client.connect(server_.address()));
  EXPECT_EQ(owner({1, getpid()}, ends), getpid());
  EXPECT_EQ(owner({}, ends), std::nullopt);
  const Stream accepted = server_.accept();
  client.close();
  EXPECT_EQ(owner({getpid()}, ends), std::nullopt);
}

TEST_F(ConnectionOwnerOfSocketsTest, KnowsThatOfAChildAndNobodyElse) {
  const auto host = make_system_process_host();
  const auto child =
      host->spawn({"/bin/bash",
                   {"-c", "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(server_.address().port) +
                              "; exec sleep 1000"},
                   "",
                   false});
  ASSERT_TRUE(child.ok());
  const Stream accepted = server_.accept();
  sockaddr_in peer{};
  socklen_t size = sizeof(peer);
  ASSERT_EQ(getpeername(accepted.descriptor(), reinterpret_cast<sockaddr*>(&peer), &size), 0);
  const ConnectionEnds ends{{"127.0.0.1", ntohs(peer.sin_port)}, server_.address()};
  EXPECT_EQ(owner({getpid(), child->pid}, ends), child->pid);
  EXPECT_EQ(owner({getpid()}, ends), std::nullopt);
  host->send_signal(*child, ProcessSignal::kKill);
  while (host->reap().empty()) ::poll(nullptr, 0, 1);
  EXPECT_EQ(owner({getpid(), child->pid}, ends), std::nullopt);
}

}  // namespace
}  // namespace freshet::chaos
