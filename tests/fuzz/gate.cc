#include <map>

#include "runtime/base/check.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/record_layout.h"
#include "shuffle/data_messages.h"
#include "shuffle/shuffle_environment.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/wire.h"

namespace freshet::fuzz {

namespace {

constexpr uint32_t kProducers = 4;
constexpr AttemptNumber kAttempt = 2;
constexpr uint64_t kStart = 5;  // The first element of the last producer.

/// The consumer of four producers at a peer that is the input.
class Consumer {
 public:
  explicit Consumer(uint8_t mode) : hash_(mode % 2 != 0), reads_runs_(mode / 8 % 2 != 0) {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 1u << 20;
    options.gate_budget_bytes = 256u << 10;
    options.timers = &executor_;
    environment_ = std::move(ShuffleEnvironment::create(options, transport_)).value();
    InputGate::Options gate;
    gate.locations = {{TaskManagerId{9}, Address{"127.0.0.1", 2}, std::nullopt}};
    gate.producers = {{0, kProducers, 0, kAttempt}};
    const uint32_t record_sizes[] = {0, 8, 1, 0};
    gate.fixed_record_size = record_sizes[mode / 2 % 4];
    gate.hash = hash_;
    gate.start = {{kProducers - 1, kStart, 0}};
    gate.on_loss = [](const ChannelLoss& loss) {
      CHECK(loss.producer_begin < loss.producer_end && loss.producer_end <= kProducers);
      CHECK(!loss.cause.ok() && !loss.cause.message().empty());
    };
    gate_ = std::move(environment_->create_gate(gate)).value();
    taken_[kProducers - 1] = {kProducers - 1, kStart, 0};
    wire_ = transport_.answer();
    CHECK(wire_ != nullptr);
    wire_->settle();
  }

  ~Consumer() {
    wire_->end();
    take_all();
    for (const ChannelPosition& position : gate_->positions()) {
      taken_[position.peer].peer = position.peer;
      CHECK(position == taken_[position.peer]);
    }
    gate_->release();
    wire_->settle();
    gate_.reset();
    environment_->shut_down();
    executor_.run_ready();
    CHECK(environment_->free_bytes() == environment_->total_bytes());
  }

  Wire& wire() { return *wire_; }

  void take_all() {
    while (const auto producer = gate_->next_ready()) {
      CHECK(*producer < kProducers);
      if (reads_runs_ && take_run(*producer)) continue;
      if (const auto element = gate_->take_from(*producer)) count(*producer, *element);
    }
    gate_->end_step();
    wire_->settle();
    check_said();
  }

  /// Producers 1 and 2 come in another attempt from now on.
  void reattach() {
    const InputGate::Move move{
        1, 3, kAttempt + 1, {TaskManagerId{9}, Address{"127.0.0.1", 2}, std::nullopt}};
    CHECK(gate_->reattach(move).ok());
    wire_->settle();
  }

 private:
  bool take_run(uint32_t producer) {
    const bool stop = false;
    auto run = gate_->begin_run(producer, 7, &stop);
    if (!run) return false;
    std::string_view payload;
    EpochMillis timestamp = kNoTimestamp;
    while (run->next(&payload, &timestamp))
      count(producer, {ElementKind::kRecord, producer, timestamp, payload});
    CHECK(run->records() > 0);
    gate_->end_run(producer, *run);
    return true;
  }

  void count(uint32_t producer, const Element& element) {
    CHECK(element.producer == producer);
    if (element.kind == ElementKind::kBarrier) return;
    ChannelPosition& position = taken_[producer];
    position.peer = producer;
    position.elements++;
    // Without hashing, so that each byte is read.
    const uint64_t hash =
        rolling_hash(position.hash, element.kind, element.timestamp, element.payload);
    if (hash_) position.hash = hash;
  }

  /// What the gate says is sound, and credit is at most what was taken and what is given at first.
  void check_said() {
    const std::string said = wire_->take_sent();
    CHECK(said_
              .on_bytes(said,
                        [](const FrameHeader& header, std::string_view payload) {
                          switch (header.kind) {
                            case FrameKind::kHello:
                              return decode_hello(payload).status();
                            case FrameKind::kAttach:
                              return decode_attach(payload).status();
                            case FrameKind::kCredit:
                              return decode_credit(payload).status();
                            case FrameKind::kDetach:
                              return Status();
                            default:
                              return internal_error("a consumer does not say this");
                          }
                        })
              .ok());
  }

  const bool hash_;
  const bool reads_runs_;
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  WireTransport transport_;
  std::unique_ptr<ShuffleEnvironment> environment_;
  std::shared_ptr<InputGate> gate_;
  std::shared_ptr<Wire> wire_;
  FrameReader said_;
  std::map<uint32_t, ChannelPosition> taken_;
};

/// A frame as a producer makes it, of records of eight bytes.
class Producer {
 public:
  explicit Producer(uint32_t index, uint64_t first = 0) : index_(index), next_(first) {}

  std::string data(uint32_t records, uint8_t flags = 0, bool lengths = false) {
    std::string payload;
    for (uint32_t i = 0; i < records; ++i) {
      const uint64_t value = next_ + i;
      const std::string record(reinterpret_cast<const char*>(&value), sizeof value);
      EpochMillis timestamp = kNoTimestamp;
      if ((flags & kFrameHasTimestamps) != 0) {
        timestamp = static_cast<EpochMillis>(value);
        payload.append(record);
      }
      hash_ = rolling_hash(hash_, ElementKind::kRecord, timestamp, record);
      if (lengths) payload.push_back(sizeof value);
      payload += record;
    }
    return frame(FrameKind::kData, flags, records, 1, payload);
  }

  std::string event(ElementKind kind, const std::string& fields) {
    if (kind != ElementKind::kBarrier) hash_ = rolling_hash(hash_, kind, kNoTimestamp, fields);
    return frame(FrameKind::kEvent, 0, kind == ElementKind::kBarrier ? 0 : 1, 0,
                 std::string(1, static_cast<char>(kind)) + fields);
  }

  /// One record of `size` bytes and its length before it, cut in two.
  std::string cut_record(uint32_t size) {
    const std::string record(size, 'r');
    std::string payload(varint_size(size), '\0');
    put_varint(payload.data(), size);
    payload += record;
    const size_t half = payload.size() / 2;
    const std::string first = frame(FrameKind::kData, kFrameEndsIncomplete | kFrameMoreFollows, 1,
                                    4, payload.substr(0, half));
    hash_ = rolling_hash(hash_, ElementKind::kRecord, kNoTimestamp, record);
    return first + frame(FrameKind::kData, kFrameStartsWithTail, 0, 4, payload.substr(half));
  }

 private:
  std::string frame(FrameKind kind, uint8_t flags, uint32_t elements, uint16_t block_class,
                    const std::string& payload) {
    FrameHeader header;
    header.payload_bytes = static_cast<uint32_t>(payload.size());
    header.kind = kind;
    header.flags = flags;
    header.block_class = block_class;
    header.attachment = 1;
    header.producer = index_;
    header.producer_attempt = kAttempt;
    header.elements_started = elements;
    header.first_element = next_;
    header.hash = static_cast<uint32_t>(hash_);
    next_ += elements;
    std::string bytes(kFrameHeaderBytes, '\0');
    header.encode_to(bytes.data());
    return bytes + payload;
  }

  const uint32_t index_;
  uint64_t next_;
  uint64_t hash_ = 0;
};

}  // namespace

/// input := mode, seed of the cuts, stream of the producing TaskManager. Whatever it says, the gate
/// gives each element once and in order, and all memory comes back.
void gate(std::string_view bytes) {
  Input input(bytes);
  const uint8_t mode = input.byte();
  Cuts cuts(input.byte());
  Consumer consumer(mode);
  std::string_view stream = input.rest();
  const bool takes_late = mode / 16 % 2 != 0;
  const size_t reattach_at = mode / 32 % 2 != 0 ? stream.size() / 2 : 0;
  bool reattached = false;
  while (!stream.empty() && consumer.wire().is_open()) {
    const size_t size = std::max<size_t>(1, cuts.next(stream.size()));
    stream.remove_prefix(consumer.wire().deliver(stream.substr(0, size)));
    if (!takes_late) consumer.take_all();
    if (!reattached && stream.size() < reattach_at) {
      consumer.reattach();
      reattached = true;
    }
  }
}

Seeds gate_seeds() {
  const std::string millis(8, '\1');
  Producer one(0), two(1), last(kProducers - 1, kStart);
  std::string ended, lost, backlog;
  append_producers_ended(1, {{0, kProducers}}, &ended);
  append_attach_reply(1, {{0, 2}, unavailable("gone")}, &lost);
  append_backlog({{1, 0, 40'000}}, &backlog);
  const std::string fixed = one.data(3) + two.event(ElementKind::kWatermark, millis) +
                            two.data(2, kFrameHasTimestamps) + last.data(4, kFrameMoreFollows) +
                            backlog + last.event(ElementKind::kBarrier, millis + millis) +
                            one.event(ElementKind::kStatus, std::string(1, '\1'));
  Producer large(0);
  const std::string cut = large.data(2, 0, true) + large.cut_record(4000) + large.data(1, 0, true);
  std::string credit_back;
  append_credit_back({{1, 0, 1024}}, &credit_back);
  const auto with = [](uint8_t mode, uint8_t seed, const std::string& stream) {
    return std::string{static_cast<char>(mode), static_cast<char>(seed)} + stream;
  };
  return {with(2, 0, fixed + ended),          with(3, 5, fixed + lost + ended),
          with(2 + 8, 0, fixed + ended),      with(3 + 16, 9, fixed),
          with(3 + 8 + 32, 3, fixed + fixed), with(0, 0, cut + ended),
          with(1, 17, cut + credit_back)};
}

}  // namespace freshet::fuzz
