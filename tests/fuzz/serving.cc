#include "runtime/base/check.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/random.h"
#include "runtime/base/secret_handshake.h"
#include "shuffle/data_messages.h"
#include "shuffle/shuffle_environment.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/wire.h"

namespace freshet::fuzz {

namespace {

constexpr const char* kSecret = "secret";

/// A TaskManager with one partition of two subpartitions, and a consumer that is the input.
class Server {
 public:
  Server() {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 1u << 20;
    options.secret = kSecret;
    options.random = make_seeded_random(4);
    options.timers = &executor_;
    environment_ = std::move(ShuffleEnvironment::create(options, transport_)).value();
    ResultPartition::Options partition;
    partition.job = {1, 2};
    partition.subpartitions = 2;
    partition.hash = true;
    partition.retained_bytes_max = 64u << 10;
    partition_ = std::move(environment_->create_partition(partition)).value();
    wire_ = transport_.accept();
  }

  ~Server() {
    partition_->end_of_data();
    settle();
    wire_->end();
    partition_->release();
    partition_.reset();
    environment_->shut_down();
    executor_.run_ready();
    CHECK(environment_->free_bytes() == environment_->total_bytes());
  }

  Wire& wire() { return *wire_; }

  /// Says what a TaskManager does that knows the secret.
  void greet() {
    const TaskManagerId peer{2};
    const auto random = make_seeded_random(3);
    SecretHandshake handshake({HandshakeSide::kConnecting, kSecret, "", ""}, *random);
    std::string hello, proof;
    append_hello({peer, handshake.nonce()}, &hello);
    wire_->deliver(hello);
    wire_->settle();
    const std::string challenge = wire_->take_sent();
    CHECK(handshake.meet(challenge.substr(kFrameHeaderBytes), to_string(peer)).ok());
    append_proof(handshake.proof(), &proof);
    wire_->deliver(proof);
    CHECK(wire_->is_open());
  }

  void write(size_t size) {
    if (!partition_->available()) return;
    const std::string record(size, 'r');
    partition_->begin_record(next_++ % 2, kNoTimestamp).write(record.data(), record.size());
    partition_->end_record();
    partition_->flush();
    settle();
  }

 private:
  /// What it says back is sound.
  void settle() {
    wire_->settle();
    const std::string said = wire_->take_sent();
    CHECK(said_.on_bytes(said, [](const FrameHeader&, std::string_view) { return Status(); }).ok());
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  WireTransport transport_;
  std::unique_ptr<ShuffleEnvironment> environment_;
  std::shared_ptr<ResultPartition> partition_;
  std::shared_ptr<Wire> wire_;
  FrameReader said_{FrameOpening::kAny};
  uint32_t next_ = 0;
};

}  // namespace

/// input := whether hello was said, seed of the cuts, stream of a consuming TaskManager.
void serving(std::string_view bytes) {
  Input input(bytes);
  const bool greeted = input.byte() % 2 != 0;
  Cuts cuts(input.byte());
  Server server;
  if (greeted) server.greet();
  std::string_view stream = input.rest();
  while (!stream.empty() && server.wire().is_open()) {
    const size_t size = std::max<size_t>(1, cuts.next(stream.size()));
    stream.remove_prefix(server.wire().deliver(stream.substr(0, size)));
    server.write(size % 3000);
  }
}

Seeds serving_seeds() {
  std::string hello, attach, again;
  append_hello({TaskManagerId{2}, std::string(32, 'n')}, &hello);
  append_proof(std::string(32, 'p'), &hello);
  Attachment wanted;
  wanted.job = {1, 2};
  wanted.credit_bytes = 8u << 10;
  wanted.producers = {{{0, 1}, 0}};
  CHECK(append_attach(1, wanted, &attach).ok());
  wanted.subpartition = 1;
  CHECK(append_attach(2, wanted, &attach).ok());
  wanted.positions = {{0, 1, 0}};
  CHECK(append_attach(3, wanted, &again).ok());
  std::string credit, detach;
  append_credit({{1, 0, 4096}, {2, 0, 1024}}, &credit);
  append_detach(1, &detach);
  const auto with = [](bool greeted, uint8_t seed, const std::string& stream) {
    return std::string{static_cast<char>(greeted), static_cast<char>(seed)} + stream;
  };
  return {with(false, 0, hello + attach + credit + detach), with(true, 3, attach + credit + credit),
          with(true, 7, attach + detach + again + credit)};
}

}  // namespace freshet::fuzz
