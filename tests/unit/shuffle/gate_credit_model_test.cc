#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <variant>

#include "runtime/base/random.h"
#include "shuffle/gate_inbox.h"

namespace freshet {
namespace {

constexpr uint32_t kProducers = 5;
constexpr uint32_t kOwn = kMediumBlockBytes;
constexpr uint64_t kFloating = 64u << 10;

/// One producer at the other end of a connection that delivers whenever the test says so, in order.
struct Producer {
  struct Frame {
    uint32_t charge = 0;  // 0: an event.
    bool more = false;
  };
  struct Told {
    uint32_t bytes = 0;
  };
  struct GivenBack {
    uint32_t bytes = 0;
  };
  struct End {};
  using Message = std::variant<Frame, Told, GivenBack, End>;

  std::shared_ptr<GateInbox::Source> source;
  std::deque<uint32_t> queue;        // Charges.
  std::deque<Message> to_gate;       // Under way.
  std::deque<uint32_t> to_producer;  // The same: credit.
  uint64_t credit = kOwn;
  uint64_t next_element = 0;
  bool told = false;
  bool ended = false;  // Nothing more is written.
  bool end_said = false;

  /// As a connection that serves it does.
  void take_turn() {
    while (!queue.empty() && queue.front() <= credit) {
      const uint32_t charge = queue.front();
      queue.pop_front();
      credit -= charge;
      const bool more = std::ranges::any_of(queue, [](uint32_t waiting) { return waiting != 0; });
      to_gate.emplace_back(Frame{charge, charge != 0 && more});
    }
    if (!queue.empty() && !told) {
      uint32_t waiting = 0;
      for (const uint32_t charge : queue) waiting += charge;
      to_gate.emplace_back(Told{waiting});
      told = true;
    }
    if (queue.empty() && credit > kOwn) {
      to_gate.emplace_back(GivenBack{static_cast<uint32_t>(credit - kOwn)});
      credit = kOwn;
    }
    if (queue.empty() && ended && !std::exchange(end_said, true)) to_gate.emplace_back(End{});
  }
};

/// Producers, a gate and its task, of which each does something when the test says so. After each
/// step all credit must be somewhere.
class CreditModel {
 public:
  explicit CreditModel(uint64_t seed) : random_(make_seeded_random(seed)) {
    inbox_ = std::make_shared<GateInbox>(GateInbox::Options{
        DatasetId{1}, pool_, kFloating, nullptr, [this](const ChannelLoss&) { ++losses_; }});
    for (uint32_t p = 0; p < kProducers; ++p) attach(p);
  }
  ~CreditModel() { inbox_->close(); }

  void step() {
    const auto p = static_cast<uint32_t>(random_->below(kProducers));
    Producer& producer = producers_[p];
    const uint64_t what = random_->below(24);
    if (what < 7) {
      if (!producer.ended) write(&producer);
    } else if (what < 11) {
      producer.take_turn();
    } else if (what < 16) {
      deliver_to_gate(p);
    } else if (what < 19) {
      deliver_credit(&producer);
    } else if (what < 23) {
      use_up(random_->below(4));
    } else if (random_->one_in(20)) {
      happen(p);
    }
    check();
  }

  /// Nobody writes any more, and all that is under way arrives and is used up.
  void come_to_rest() {
    for (int round = 0; round < 1000; ++round) {
      for (uint32_t p = 0; p < kProducers; ++p) {
        producers_[p].take_turn();
        deliver_to_gate(p);
        deliver_credit(&producers_[p]);
      }
      use_up(2);
      check();
    }
  }

  void expect_rest() {
    EXPECT_TRUE(held_.empty());
    EXPECT_EQ(inbox_->floating_free_bytes(), kFloating);
    EXPECT_TRUE(inbox_->floating_lent_bytes().empty());
    for (uint32_t p = 0; p < kProducers; ++p) {
      if (gone_.contains(p)) continue;
      EXPECT_TRUE(producers_[p].queue.empty()) << p;
      EXPECT_EQ(producers_[p].credit, kOwn) << p;
    }
  }

  /// What a producer that was just attached gets when it asks for everything.
  uint32_t ask_anew() {
    attach(0);
    uint32_t granted = 0;
    EXPECT_TRUE(inbox_->on_backlog(*producers_[0].source, 0, kFloating, &granted).ok());
    return granted;
  }

  uint64_t granted_bytes() const { return granted_bytes_; }
  uint64_t given_back_bytes() const { return given_back_bytes_; }
  uint64_t losses() const { return losses_; }

 private:
  struct Held {
    uint32_t producer = 0;
    uint32_t attachment = 0;
    uint32_t charge = 0;
  };

  void attach(uint32_t p) {
    auto source = std::make_shared<GateInbox::Source>();
    source->attachment.credit_bytes = kOwn;
    source->attachment.producers = {{{p, p + 1}, 0}};
    inbox_->add(source);
    drop_held(p);
    producers_[p] = Producer();
    producers_[p].source = std::move(source);
    gone_.remove({p, p + 1});
  }

  void drop_held(uint32_t p) {
    std::erase_if(held_, [&](const Held& held) { return held.producer == p; });
  }

  void write(Producer* producer) {
    constexpr uint32_t kCharges[] = {0, kSmallBlockBytes, kSmallBlockBytes, kSmallBlockBytes, kOwn};
    for (uint64_t n = random_->one_in(20) ? 30 : 1; n > 0; --n) {
      producer->queue.push_back(kCharges[random_->below(std::size(kCharges))]);
    }
  }

  void happen(uint32_t p) {
    const auto& source = *producers_[p].source;
    switch (random_->below(4)) {
      case 0:
        producers_[p].ended = true;
        break;
      case 1:
        inbox_->on_lost(source, {p, p + 1}, unavailable("gone"));
        gone_.add({p, p + 1});
        break;
      case 2:
        drop_held(p);
        inbox_->fail(p, data_loss("wrong"));
        gone_.add({p, p + 1});
        break;
      default:
        attach(p);
    }
  }

  void deliver_to_gate(uint32_t p) {
    Producer& producer = producers_[p];
    if (producer.to_gate.empty()) return;
    const Producer::Message message = producer.to_gate.front();
    producer.to_gate.pop_front();
    const GateInbox::Source& source = *producer.source;
    Status status;
    if (const auto* frame = std::get_if<Producer::Frame>(&message)) {
      status = give(p, *frame);
    } else if (const auto* told = std::get_if<Producer::Told>(&message)) {
      uint32_t granted = 0;
      status = inbox_->on_backlog(source, p, told->bytes, &granted);
      tell(p, granted);
    } else if (const auto* back = std::get_if<Producer::GivenBack>(&message)) {
      status = inbox_->on_credit_back(source, p, back->bytes);
      given_back_bytes_ += back->bytes;
    } else {
      status = inbox_->on_ended(source, {{p, p + 1}});
      gone_.add({p, p + 1});
    }
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

  Status give(uint32_t p, const Producer::Frame& frame) {
    Producer& producer = producers_[p];
    FrameHeader header;
    header.producer = p;
    header.first_element = producer.next_element++;
    header.elements_started = 1;
    std::string payload = "12345678";
    if (frame.charge == 0) {
      header.kind = FrameKind::kEvent;
      payload = static_cast<char>(ElementKind::kWatermark) + payload;
    }
    header.block_class = static_cast<uint16_t>(frame.charge / kFrameCreditUnitBytes);
    header.flags = frame.more ? kFrameMoreFollows : 0;
    header.payload_bytes = static_cast<uint32_t>(payload.size());
    GateInbox::FrameOutcome outcome;
    return inbox_->on_frame(*producer.source, header, payload, &outcome);
  }

  void tell(uint32_t p, uint32_t bytes) {
    if (bytes == 0) return;
    producers_[p].to_producer.push_back(bytes);
    granted_bytes_ += bytes;
  }

  void deliver_credit(Producer* producer) {
    if (producer->to_producer.empty()) return;
    producer->credit += producer->to_producer.front();
    producer->to_producer.pop_front();
    producer->told = false;
    producer->take_turn();
  }

  void take() {
    GateInbox::Arrivals arrivals;
    inbox_->take(&arrivals);
    for (const auto& arrived : arrivals.buffers) {
      const auto attachment = static_cast<uint32_t>(producers_[arrived.producer].source->index);
      const uint32_t charge = arrived.buffer.event ? 0 : arrived.buffer.block->capacity();
      if (charge != 0) held_.push_back({arrived.producer, attachment, charge});
    }
    if (arrivals.credit_to_grant) return_credit({});
  }

  void use_up(uint64_t count) {
    std::vector<CreditReturn> credits;
    for (; count > 0 && !held_.empty(); --count) {
      const Held& held = held_.front();
      credits.push_back({held.attachment, held.producer, held.charge});
      held_.pop_front();
    }
    if (!credits.empty()) return_credit(std::move(credits));
  }

  void return_credit(std::vector<CreditReturn> credits) {
    inbox_->add_credit(&credits);
    for (const CreditReturn& credit : credits) {
      if (credit.attachment == producers_[credit.producer].source->index)
        tell(credit.producer, credit.bytes);
    }
  }

  void check() {
    take();
    const auto lent = inbox_->floating_lent_bytes();
    uint64_t all = inbox_->floating_free_bytes();
    for (const auto& [producer, bytes] : lent) all += bytes;
    ASSERT_EQ(all, kFloating);
    for (uint32_t p = 0; p < kProducers; ++p) {
      if (gone_.contains(p)) continue;  // Its credit does not matter any more.
      uint64_t somewhere = producers_[p].credit;
      for (const uint32_t bytes : producers_[p].to_producer) somewhere += bytes;
      for (const auto& message : producers_[p].to_gate) {
        if (const auto* frame = std::get_if<Producer::Frame>(&message)) somewhere += frame->charge;
        if (const auto* back = std::get_if<Producer::GivenBack>(&message)) somewhere += back->bytes;
      }
      for (const Held& held : held_) somewhere += held.producer == p ? held.charge : 0;
      const auto at = lent.find(p);
      ASSERT_EQ(somewhere, kOwn + (at == lent.end() ? 0 : at->second)) << "producer " << p;
    }
  }

  std::unique_ptr<Random> random_;
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(8 * kLargeBlockBytes);
  std::shared_ptr<GateInbox> inbox_;
  std::array<Producer, kProducers> producers_;
  std::deque<Held> held_;  // By the task.
  ProducerSet gone_;       // Lost or ended.
  uint64_t losses_ = 0;
  uint64_t granted_bytes_ = 0;
  uint64_t given_back_bytes_ = 0;
};

TEST(GateCreditModelTest, IsAlwaysSomewhereAndAtRestFree) {
  uint64_t granted_bytes = 0, given_back_bytes = 0, losses = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    CreditModel model(seed);
    for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) model.step();
    model.come_to_rest();
    model.expect_rest();
    EXPECT_EQ(model.ask_anew(), kFloating / 2);
    granted_bytes += model.granted_bytes();
    given_back_bytes += model.given_back_bytes();
    losses += model.losses();
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(granted_bytes, 1u << 20);
  EXPECT_GT(given_back_bytes, 1u << 16);
  EXPECT_GT(losses, 30u);
}

}  // namespace
}  // namespace freshet
