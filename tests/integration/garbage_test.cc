#include <gtest/gtest.h>

#include <future>

#include "network/asio_transport.h"
#include "runtime/base/random.h"
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

/// True when the peer closed the connection within a few seconds.
bool is_closed_after(Transport& transport, const Address& address, const std::string& garbage) {
  std::promise<Result<std::shared_ptr<Connection>>> promise;
  transport.connect(address, 5s, [&](auto result) { promise.set_value(std::move(result)); });
  auto connection = promise.get_future().get();
  if (!connection.ok()) return false;
  const auto sender = std::make_shared<GarbageSender>();
  auto closed = sender->closed();
  (*connection)->start(sender);
  const auto bytes = std::make_shared<std::string>(garbage);
  (*connection)->send({{*bytes, bytes}});
  const bool ended = closed.wait_for(5s) == std::future_status::ready;
  (*connection)->close();
  if (!ended) closed.wait();
  return ended;
}

std::vector<std::string> kinds_of_garbage() {
  const auto random = make_seeded_random(5);
  std::string noise;
  for (int i = 0; i < 100'000; i++) noise += static_cast<char>(random->next());
  std::string huge = "HSRF";
  huge += std::string("\xff\xff\xff\x7f", 4);
  return {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", noise, std::string(1000, '\0'), huge + noise,
          std::string("HSRF\x08\x00\x00\x00", 8) + "\xff\xff\xff\xff\xff\xff\xff\xff"};
}

TEST(GarbageTest, ClosesThatConnectionOnlyAndTheProcessesLive) {
  const TemporaryDirectory directory;
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const auto transport = make_asio_transport({});
  for (const std::string name : {"jobmanager", "taskmanager-1"}) {
    const Address address = cluster.process(name).address.value_or(Address{});
    for (const std::string& garbage : kinds_of_garbage()) {
      EXPECT_TRUE(is_closed_after(*transport, address, garbage))
          << name << " keeps a connection after " << garbage.size() << " bytes of garbage";
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

}  // namespace
}  // namespace freshet::testing
