#include "network/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "network/asio_transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"
#include "tests/contract/recording_handler.h"

namespace freshet {
namespace {

using testing::HasSubstr;

bool exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

class UnixSocketTest : public testing::Test {
 protected:
  UnixSocketTest() {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/data.socket";
    address_ = Address::parse("unix:" + path_).value();
    abstract_ = Address::parse("unix:@freshet-test-" + std::to_string(getpid())).value();
  }
  ~UnixSocketTest() override {
    transport_.reset();
    unlink(path_.c_str());
    EXPECT_EQ(rmdir(directory_.c_str()), 0);
  }

  std::unique_ptr<Listener> listen(const Address& address) {
    auto listener = transport_->listen(address, accepted_.handler());
    EXPECT_TRUE(listener.ok()) << listener.status().to_string();
    return listener.ok() ? std::move(listener).value() : nullptr;
  }
  Status listen_fails(const Address& address) {
    return transport_->listen(address, accepted_.handler()).status();
  }
  /// As a process leaves it that was killed.
  void leave_stale_file() {
    auto dead = UnixListener::listen(address_);
    ASSERT_TRUE(dead.ok());
    close((*dead)->take_descriptor());
    const std::string aside = path_ + ".aside";
    ASSERT_EQ(rename(path_.c_str(), aside.c_str()), 0);
    dead->reset();
    ASSERT_EQ(rename(aside.c_str(), path_.c_str()), 0);
  }

  std::string directory_ = testing::TempDir() + "freshet-unix-XXXXXX";
  std::string path_;
  Address address_;
  Address abstract_;
  AcceptQueue accepted_;
  std::unique_ptr<Transport> transport_ = make_asio_transport({.threads = 1});
};

TEST_F(UnixSocketTest, RemovesItsFile) {
  auto listener = listen(address_);
  EXPECT_TRUE(exists(path_));
  listener.reset();
  EXPECT_FALSE(exists(path_));
}

TEST_F(UnixSocketTest, RemovesItsFileWithTheTransport) {
  const auto listener = listen(address_);
  transport_.reset();
  EXPECT_FALSE(exists(path_));
}

TEST_F(UnixSocketTest, ReplacesTheFileOfAProcessThatWasKilled) {
  leave_stale_file();
  ASSERT_TRUE(exists(path_));
  EXPECT_EQ(connect_and_wait(*transport_, address_).status().code(), StatusCode::kUnavailable);
  const auto listener = listen(address_);
  EXPECT_TRUE(connect_and_wait(*transport_, address_).ok());
}

TEST_F(UnixSocketTest, TakesNoSocketThatIsInUse) {
  const auto listener = listen(address_);
  const Status refused = listen_fails(address_);
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(refused.message(), HasSubstr("in use"));
  EXPECT_TRUE(exists(path_));
  EXPECT_TRUE(connect_and_wait(*transport_, address_).ok());
}

TEST_F(UnixSocketTest, LeavesWhatIsNoSocketAlone) {
  ASSERT_EQ(symlink("precious", path_.c_str()), 0);
  const Status refused = listen_fails(address_);
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(refused.message(), HasSubstr(path_));
  EXPECT_TRUE(exists(path_));
}

TEST_F(UnixSocketTest, LeavesAFileAloneThatAnotherPutInItsPlace) {
  auto listener = listen(address_);
  unlink(path_.c_str());
  ASSERT_EQ(symlink("precious", path_.c_str()), 0);
  listener.reset();
  EXPECT_TRUE(exists(path_));
}

TEST_F(UnixSocketTest, NamesWhereItCannotListenOrConnect) {
  const Address nowhere = Address::parse("unix:" + directory_ + "/none/data.socket").value();
  EXPECT_THAT(listen_fails(nowhere).message(), HasSubstr(nowhere.to_string()));
  const Status refused = connect_and_wait(*transport_, nowhere).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr(nowhere.to_string()));
  Address too_long;
  too_long.unix_socket = "/" + std::string(200, 'x');
  EXPECT_THAT(listen_fails(too_long).message(), HasSubstr("too long"));
  EXPECT_THAT(connect_and_wait(*transport_, too_long).status().message(), HasSubstr("too long"));
}

TEST_F(UnixSocketTest, NeedsNoFile) {
  auto listener = listen(abstract_);
  const auto client = connect_and_wait(*transport_, abstract_);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  const auto server = accepted_.take();
  const auto events = std::make_shared<RecordingHandler>();
  server->start(events);
  (*client)->start(std::make_shared<RecordingHandler>());
  (*client)->send(outgoing("hello"));
  ASSERT_TRUE(events->wait_for_bytes(5));
  EXPECT_EQ(server->remote_address(), abstract_);
  EXPECT_EQ(listen_fails(abstract_).code(), StatusCode::kAlreadyExists);
  listener.reset();
  EXPECT_FALSE(connect_and_wait(*transport_, abstract_).ok());
}

TEST_F(UnixSocketTest, RefusesAConnectWhenTooManyWait) {
  auto full = UnixListener::listen(address_);
  ASSERT_TRUE(full.ok());
  const OwnedDescriptor descriptor((*full)->take_descriptor());
  ASSERT_EQ(::listen(descriptor.get(), 0), 0);  // A backlog of one that nobody takes.
  std::vector<std::shared_ptr<Connection>> waiting;
  Status last;
  for (int i = 0; i < 8 && last.ok(); ++i) {
    auto connection = connect_and_wait(*transport_, address_);
    last = connection.status();
    if (last.ok()) waiting.push_back(*connection);
  }
  EXPECT_EQ(last.code(), StatusCode::kUnavailable);
  EXPECT_THAT(last.message(), HasSubstr(address_.to_string()));
}

TEST_F(UnixSocketTest, EndsTheConnectionOfASendThatIsCut) {
  const auto listener = listen(address_);
  const auto client = connect_and_wait(*transport_, address_);
  ASSERT_TRUE(client.ok());
  const auto server = accepted_.take();
  const auto client_events = std::make_shared<RecordingHandler>();
  const auto server_events = std::make_shared<RecordingHandler>();
  server->start(server_events);
  server->send(outgoing(std::string(64 << 20, 'x')));
  server->close();
  (*client)->start(client_events);
  ASSERT_TRUE(server_events->wait_for_close());
  ASSERT_TRUE(client_events->wait_for_close());
  EXPECT_EQ(server_events->sent(), 0);
  EXPECT_LT(client_events->received_bytes(), size_t{64} << 20);
}

/// A thread of user 65534 (nobody), while the process goes on as root.
template <class F>
void as_nobody(F function) {
  const auto clock = make_system_clock();
  ThreadExecutor thread("nobody", *clock);
  thread.post("act", [&] {
    ASSERT_EQ(syscall(SYS_setresuid, 65534, 65534, 65534), 0);
    function();
  });
  thread.stop();
}

TEST_F(UnixSocketTest, LetsNoOtherUserConnect) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const auto listener = listen(abstract_);
  size_t got = 1;
  as_nobody([&] {
    const int raw = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::ranges::copy(abstract_.unix_socket.substr(1), name.sun_path + 1);
    const auto size =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + abstract_.unix_socket.size());
    ASSERT_EQ(::connect(raw, reinterpret_cast<sockaddr*>(&name), size), 0);
    char byte = 0;
    got = static_cast<size_t>(recv(raw, &byte, 1, 0));  // Until it is closed.
    close(raw);
  });
  EXPECT_EQ(got, 0u);
  // Others still can, and are the first that is let in.
  ASSERT_TRUE(connect_and_wait(*transport_, abstract_).ok());
  EXPECT_NE(accepted_.take(), nullptr);
}

TEST_F(UnixSocketTest, ConnectsToNoOtherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const int raw = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::ranges::copy(abstract_.unix_socket.substr(1), name.sun_path + 1);
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + abstract_.unix_socket.size());
  as_nobody([&] {
    ASSERT_EQ(bind(raw, reinterpret_cast<sockaddr*>(&name), size), 0);
    ASSERT_EQ(::listen(raw, 5), 0);
  });
  const Status refused = connect_and_wait(*transport_, abstract_).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("another user (id 65534)"));
  close(raw);
}

}  // namespace
}  // namespace freshet
