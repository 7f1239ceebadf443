#include <gtest/gtest.h>

#include <future>

#include "network/asio_transport.h"
#include "network/message_channel.h"
#include "runtime/base/random.h"
#include "runtime/base/version.h"
#include "shuffle/data_messages.h"
#include "taskmanager/hello.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

/// Sends bytes and waits for the peer to end the connection.
class GarbageSender final : public ConnectionHandler {
 public:
  Status on_bytes(std::string_view) override { return Status(); }
  void on_sent() override {}
  void on_closed(const Status&) override { closed_.set_value(); }

  std::future<void> closed() { return closed_.get_future(); }

 private:
  std::promise<void> closed_;
};

/// A connection of somebody who says `bytes`, and then nothing for as long as it lives.
class Stranger {
 public:
  Stranger(Transport& transport, const Address& address, const std::string& bytes) {
    std::promise<Result<std::shared_ptr<Connection>>> promise;
    transport.connect(address, 5s, [&](auto result) { promise.set_value(std::move(result)); });
    auto connection = promise.get_future().get();
    EXPECT_TRUE(connection.ok()) << connection.status().message();
    if (!connection.ok()) return;
    connection_ = *connection;
    const auto sender = std::make_shared<GarbageSender>();
    closed_ = sender->closed();
    connection_->start(sender);
    const auto kept = std::make_shared<std::string>(bytes);
    if (!bytes.empty()) connection_->send({{*kept, kept}});
  }
  ~Stranger() {
    if (!connection_) return;
    connection_->close();
    closed_.wait();
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  /// True when the peer closes the connection in time.
  bool is_closed_within(Duration timeout) {
    return connection_ && closed_.wait_for(timeout) == std::future_status::ready;
  }

 private:
  std::shared_ptr<Connection> connection_;
  std::future<void> closed_;
};

std::vector<std::string> kinds_of_garbage() {
  const auto random = make_seeded_random(5);
  std::string noise;
  for (int i = 0; i < 100'000; i++) noise += static_cast<char>(random->next());
  std::string huge = "HSRF";
  huge += std::string("\xff\xff\xff\x7f", 4);
  return {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", noise, std::string(1000, '\0'), huge + noise,
          std::string("HSRF\x08\x00\x00\x00", 8) + "\xff\xff\xff\xff\xff\xff\xff\xff"};
}

std::string control_message(const std::string& payload) {
  const uint32_t header[] = {kControlMagic, static_cast<uint32_t>(payload.size())};
  return std::string(reinterpret_cast<const char*>(header), sizeof(header)) + payload;
}

/// What makes a process believe that one of its own speaks.
std::string valid_hello(const std::string& process) {
  if (process == "jobmanager")
    return control_message(
        Greeting({HelloRole::kTaskManager, {}, FRESHET_VERSION, ""}, *make_system_random())
            .hello());
  std::string hello;
  append_hello({TaskManagerId{4711}, ""}, &hello);
  return hello;
}

TEST(GarbageTest, ClosesThatConnectionOnlyAndTheProcessesLive) {
  const TemporaryDirectory directory;
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const auto transport = make_asio_transport({});
  for (const std::string name : {"jobmanager", "taskmanager-1"}) {
    const Address address = cluster.process(name).address.value_or(Address{});
    for (const std::string& garbage : kinds_of_garbage()) {
      for (const std::string& hello : {std::string(), valid_hello(name)}) {
        Stranger stranger(*transport, address, hello + garbage);
        EXPECT_TRUE(stranger.is_closed_within(5s))
            << name << " keeps a connection after " << hello.size() << " bytes of hello and "
            << garbage.size() << " of garbage";
      }
    }
  }
  const auto files = license_files();
  std::vector<std::string> arguments = {job_module("wordcount"), "-p",     "4", "--", "--output",
                                        directory / "counts",    "--input"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  const Outcome outcome = cluster.run(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_word_counts(directory / "counts"), count_words(files));
  for (const ClusterProcess& one : cluster.state().processes) {
    EXPECT_TRUE(one.running) << one.name;
    EXPECT_EQ(one.restarts, 0u) << one.name;
  }
}

TEST(GarbageTest, ClosesConnectionsThatDoNotSayWhoTheyAreInTime) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const auto transport = make_asio_transport({});
  const Address control = cluster.job_manager();
  const Address data = cluster.process("taskmanager-1").address.value_or(Address{});
  const std::string control_hello = valid_hello("jobmanager");
  const std::string data_hello = valid_hello("taskmanager-1");
  Stranger silent_at_job_manager(*transport, control, "");
  Stranger silent_at_task_manager(*transport, data, "");
  Stranger slow_at_job_manager(*transport, control,
                               control_hello.substr(0, control_hello.size() - 1));
  Stranger slow_at_task_manager(*transport, data, data_hello.substr(0, data_hello.size() - 1));
  Stranger never_registers(*transport, control, control_hello);
  // All of them wait for the same ten seconds.
  EXPECT_FALSE(silent_at_job_manager.is_closed_within(1s));
  EXPECT_TRUE(silent_at_job_manager.is_closed_within(20s));
  for (Stranger* one :
       {&silent_at_task_manager, &slow_at_job_manager, &slow_at_task_manager, &never_registers}) {
    EXPECT_TRUE(one->is_closed_within(20s));
  }
  for (const ClusterProcess& one : cluster.state().processes) {
    EXPECT_TRUE(one.running) << one.name;
    EXPECT_EQ(one.restarts, 0u) << one.name;
  }
}

}  // namespace
}  // namespace freshet::testing
